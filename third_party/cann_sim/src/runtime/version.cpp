// How a program tells the simulated CANN from a real one: by this function, which no CANN has.
extern "C" const char* cann_sim_version() { return "0.1.0"; }
