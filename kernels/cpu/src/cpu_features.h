// Which instruction sets this machine and its operating system offer.
#pragma once

#include <vector>

#include "core.h"

namespace di {

// The cores this machine can run, best first; the portable one is always there.
std::vector<const Core*> available_cores();

}  // namespace di
