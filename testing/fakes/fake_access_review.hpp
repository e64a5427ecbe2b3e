// Judges tokens as the test defines. Any thread may call; the test sets the fields before that.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <string>

#include "ports/kube/access_review.hpp"

namespace tessera {

class FakeAccessReview final : public AccessReview {
  public:
    // Token -> path, or "post PATH" -> verdict. A token that is not in the map is unknown.
    std::map<std::string, std::map<std::string, Verdict, std::less<>>> tokens;
    bool down = false;
    std::function<void()> on_review = [] {};
    std::atomic<int> reviews = 0;

    Result<Verdict> review(const std::string& token, AccessVerb verb,
                           std::string_view path) override {
        ++reviews;
        on_review();
        if (down) return fail(Code::unavailable, "down");
        const auto found = tokens.find(token);
        if (found == tokens.end()) return Verdict::unknown;
        const auto verdict = found->second.find(
            verb == AccessVerb::get ? std::string(path) : "post " + std::string(path));
        return verdict == found->second.end() ? Verdict::denied : verdict->second;
    }
};

}  // namespace tessera
