#include "backend/gpu/call/call_method.hpp"

#include "backend/gpu/context.hpp"

namespace linkscope::gpu {

Support CallMethod::supports(const Flow& flow) const {
  if (flow.source || flow.destination)
    return Support::no(flow.method + " is a call: it has no source and no destination");
  return context().has(flow.executor);
}

}  // namespace linkscope::gpu
