// What a pod's user wishes its containers to hold, and the answer where it is a refusal: the pod
// annotations tessera.dev/resize and tessera.dev/resize-refused. Grammar: docs/formats/resize.md.
#pragma once

#include <string>
#include <string_view>

#include "base/result.hpp"
#include "domain/allocation/resize.hpp"

namespace tessera {

// invalid_argument names the member and says what to write; unsupported for a version that is newer
// than ours.
Result<ResizeWish> read_resize_wish(std::string_view text);

// `id` tells a wish from an earlier one of the same amounts, which may have been refused.
std::string write_resize_wish(const ResizeWish& wish, std::string_view id);

// The annotation that answers this text of a wish, of any length.
std::string write_resize_refusal(std::string_view wish, const Error& reason);

// Whether it answers this wish and no other. Any text may stand there.
bool is_refusal_of(std::string_view refusal, std::string_view wish);

// What it says: the reason, with its code. invalid_argument for what is no refusal, of ours or any.
Error read_resize_refusal(std::string_view refusal);

}  // namespace tessera
