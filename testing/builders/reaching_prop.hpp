// A property test whose random inputs must reach the case that it is about. A property that meets
// only other cases proves nothing, and RC_CLASSIFY does not fail then.
#pragma once

#include <gtest/gtest.h>
#include <rapidcheck.h>

namespace tessera {

// Notes whether any input was the case.
class Reached {
  public:
    void operator()(bool is_case) {
        any_ = any_ || is_case;
        RC_CLASSIFY(is_case, "reached");
    }
    [[nodiscard]] bool any() const { return any_; }

  private:
    bool any_ = false;
};

}  // namespace tessera

// Like RC_GTEST_PROP. The body calls reached(CONDITION), and the test also fails if the condition
// was false for all inputs. It must be true for a tenth of the inputs at least: then one seed in
// 30,000 fails by chance.
#define REACHING_PROP(Suite, Name)                                                    \
    void property_##Suite##_##Name(::tessera::Reached& reached);                      \
    TEST(Suite, Name) {                                                               \
        ::tessera::Reached reached;                                                   \
        const auto property = [&] { property_##Suite##_##Name(reached); };            \
        ASSERT_TRUE(::rc::check(#Suite "." #Name, property)) << "see standard error"; \
        EXPECT_TRUE(reached.any()) << "no random input was the case";                 \
    }                                                                                 \
    void property_##Suite##_##Name(::tessera::Reached& reached)
