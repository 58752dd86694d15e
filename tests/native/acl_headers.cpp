// Compiles only if third_party/acl/acl_subset.h says the same as the headers it is compiled against.
#include <type_traits>

#include "acl/acl.h"
#include "acl_subset.h"

namespace {

template <class A, class B>
constexpr bool same_enum() {
  if constexpr (std::is_enum_v<A> && std::is_enum_v<B>) {
    return std::is_same_v<std::underlying_type_t<A>, std::underlying_type_t<B>>;
  } else {
    return false;
  }
}

// Equal, or enumerations of equal representation (ours are types of their own), also behind pointers.
template <class A, class B>
struct Same : std::bool_constant<std::is_same_v<A, B> || same_enum<A, B>()> {};
template <class A, class B>
struct Same<A*, B*> : Same<A, B> {};
template <class R, class... P, class S, class... Q>
struct Same<R(P...), S(Q...)> {
  static constexpr bool value = [] {
    if constexpr (sizeof...(P) == sizeof...(Q)) {
      return Same<R, S>::value && (Same<P, Q>::value && ...);
    } else {
      return false;
    }
  }();
};

}  // namespace

#define TAT_CHECK_FUNCTION(name)                                         \
  static_assert(Same<decltype(tat::acl::name), decltype(::name)>::value, \
                "acl_subset.h declares " #name " differently from the headers");
TAT_ACL_FUNCTIONS(TAT_CHECK_FUNCTION)
TAT_ACL_GATE_FUNCTIONS(TAT_CHECK_FUNCTION)

#define TAT_CHECK_TYPE(name)                         \
  static_assert(Same<tat::acl::name, ::name>::value, \
                "acl_subset.h declares " #name " differently from the headers");
TAT_CHECK_TYPE(aclError)
TAT_CHECK_TYPE(aclrtEvent)
TAT_CHECK_TYPE(aclrtStream)
TAT_CHECK_TYPE(aclrtNotify)
TAT_CHECK_TYPE(aclrtContext)
TAT_CHECK_TYPE(aclrtEventRecordedStatus)

#define TAT_CHECK_VALUE(ours, name)                                                     \
  static_assert(static_cast<long long>(tat::acl::ours) == static_cast<long long>(name), \
                "acl_subset.h gives " #ours " another value than the headers");
TAT_CHECK_VALUE(kAclSuccess, ACL_SUCCESS)
TAT_CHECK_VALUE(kAclEventTimeLine, ACL_EVENT_TIME_LINE)
TAT_CHECK_VALUE(ACL_EVENT_RECORDED_STATUS_NOT_READY, ::ACL_EVENT_RECORDED_STATUS_NOT_READY)
TAT_CHECK_VALUE(ACL_EVENT_RECORDED_STATUS_COMPLETE, ::ACL_EVENT_RECORDED_STATUS_COMPLETE)
TAT_CHECK_VALUE(ACL_MEM_MALLOC_HUGE_FIRST, ::ACL_MEM_MALLOC_HUGE_FIRST)
