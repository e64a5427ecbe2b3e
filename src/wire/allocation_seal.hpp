// The signature of the pod annotation tessera.dev/allocation, in an annotation beside it: what a
// tenant wrote or copied is told from what the controller wrote. HMAC-SHA256 (RFC 2104, FIPS 198-1)
// over the allocation's text, which names the pod's uid and its node, with a key that only the
// controller and the agents read. Format: docs/formats/allocation.md.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "domain/allocation/allocation.hpp"

namespace tessera {

// Immutable; any thread may use it.
class AllocationSeal {
  public:
    // The key file: a key of 32 to 128 bytes in hexadecimal on each line, at most four; empty lines
    // and those that begin with # are passed over. The first key signs, all are believed: so one
    // can be replaced while the other is still in use. invalid_argument names the line, never the
    // key.
    static Result<AllocationSeal> from_keys(std::string_view text);

    // The value of the annotation tessera.dev/allocation-mac.
    [[nodiscard]] std::string sign(std::string_view allocation) const;
    // In a time that does not tell how much of `mac` is right.
    [[nodiscard]] bool is_ours(std::string_view allocation, std::string_view mac) const;

  private:
    std::vector<std::string> keys_;  // bytes; at least one
};

// The allocation of a pod's annotations. With a seal, permission_denied for a text that it has not
// signed; otherwise as read_allocation.
Result<Allocation> read_sealed_allocation(std::string_view allocation,
                                          std::optional<std::string_view> mac,
                                          const AllocationSeal* seal);

}  // namespace tessera
