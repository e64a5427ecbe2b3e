#include "base/result.hpp"

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <set>
#include <type_traits>

#include "base/check.hpp"
#include "base/ids.hpp"

namespace tessera {
namespace {

constexpr auto kCodes = std::to_array<Code>({
#define ERROR_CODE(name, http, exit_status, meaning) Code::name,
#include "base/error_codes.def"
#undef ERROR_CODE
});

// Goal: a script can tell failures apart: every code has its own name and exit status, and none is
// 0.
TEST(ErrorTable, NamesAndExitStatusesAreUnique) {
    std::set<std::string_view> names;
    std::set<int> exits;
    for (const Code code : kCodes) {
        EXPECT_TRUE(names.insert(code_name(code)).second) << code_name(code);
        EXPECT_TRUE(exits.insert(exit_status(code)).second) << code_name(code);
        EXPECT_GT(exit_status(code), 0);
        EXPECT_LT(exit_status(code), 126) << "a shell's own statuses start there";
        EXPECT_GE(http_status(code), 400);
        EXPECT_LT(http_status(code), 600);
    }
}

// Goal: the exit statuses that scripts and runbooks use never change. Method: a table of them.
TEST(ErrorTable, PromisedStatuses) {
    EXPECT_EQ(code_name(Code::invalid_argument), "invalid_argument");
    EXPECT_EQ(exit_status(Code::invalid_argument), 2);
    EXPECT_EQ(http_status(Code::not_found), 404);
    EXPECT_EQ(http_status(Code::conflict), 409);
    EXPECT_EQ(http_status(Code::unavailable), 503);
    EXPECT_EQ(exit_status(Code::internal), 70);
}

Result<int> half(int n) {
    if (n % 2 != 0) return fail(Code::invalid_argument, "odd");
    return n / 2;
}
Result<> even(int n) {
    if (n % 2 != 0) return fail(Code::conflict, "odd");
    return {};
}
Result<int> quarter(int n) {
    TRY(const int once, half(n));
    TRY_VOID(even(once));
    TRY(const int twice, half(once));
    return twice;
}

// Goal: TRY continues with the value, and returns the first error unchanged.
TEST(Result, TryPassesValuesAndErrors) {
    EXPECT_EQ(quarter(12), 3);
    ASSERT_FALSE(quarter(3));
    EXPECT_EQ(quarter(3).error(), (Error{Code::invalid_argument, "odd"}));
    ASSERT_FALSE(quarter(6));
    EXPECT_EQ(quarter(6).error().code, Code::conflict);
}

Result<std::unique_ptr<int>> boxed() {
    return std::make_unique<int>(7);
}
Result<int> unboxed() {
    TRY(const auto box, boxed());
    return *box;
}

// Goal: values that cannot be copied work too, and TRY can assign to a member.
TEST(Result, TryMovesAndAssigns) {
    EXPECT_EQ(unboxed(), 7);
    struct Pair {
        int value = 0;
    };
    Pair pair;
    const auto fill = [&]() -> Result<> {
        TRY(pair.value, half(8));
        return {};
    };
    EXPECT_TRUE(fill());
    EXPECT_EQ(pair.value, 4);
}

// Goal: the context is added in front of the text; the code stays the same.
TEST(Error, InAddsWhere) {
    const Error error{Code::corrupt, "EOF"};
    EXPECT_EQ(error.in("reading /x"), (Error{Code::corrupt, "reading /x: EOF"}));
}

// Goal: an id of one kind cannot be passed as another kind, nor can a bare string.
TEST(Ids, DoNotConvert) {
    static_assert(!std::is_convertible_v<PodUid, NodeName>);
    static_assert(!std::is_constructible_v<PodUid, NodeName>);
    static_assert(!std::is_convertible_v<std::string, PodUid>);
    static_assert(!std::is_convertible_v<PodUid, std::string>);
    EXPECT_LT(PodUid("a"), PodUid("b"));
    EXPECT_EQ(std::hash<PodUid>{}(PodUid("a")), std::hash<PodUid>{}(PodUid("a")));
    EXPECT_TRUE(PodUid().empty());
    EXPECT_EQ((PodName{"team-a", "p"}).str(), "team-a/p");
    EXPECT_NE((PodName{"a", "b"}), (PodName{"b", "a"}));
}

// Goal: a broken invariant aborts the process and says which invariant it is.
TEST(CheckDeathTest, BrokenInvariantEndsTheProcess) {
    ::testing::FLAGS_gtest_death_test_style = "threadsafe";
    TESSERA_CHECK(1 + 1 == 2, "arithmetic holds");
    EXPECT_DEATH(TESSERA_CHECK(1 + 1 == 3, "arithmetic fails"),
                 "broken invariant: arithmetic fails \\(1 \\+ 1 == 3\\)");
}

}  // namespace
}  // namespace tessera
