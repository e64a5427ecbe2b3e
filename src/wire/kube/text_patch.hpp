// A part of a merge patch (RFC 7396): labels or annotations.
#pragma once

#include <string_view>

#include "base/string_map.hpp"
#include "wire/text/json.hpp"

namespace tessera {

// `name` is "annotations" or "labels". An empty value removes the text.
inline void write_text_patch(JsonWriter& w, std::string_view name, const StringMap& texts) {
    w.object(name, [&] {
        for (const auto& [key, value] : texts) {
            if (value.empty()) {
                w.raw_member(key, "null");
            } else {
                w.member(key, value);
            }
        }
    });
}

}  // namespace tessera
