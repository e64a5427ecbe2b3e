// As much of googletest as the tests need on a machine that has only a driver, a compiler and
// CMake. It is found as <gtest/gtest.h> in this build only. Each test runs in a process of its own
// with a deadline, because a driver may crash or hang here. main() is run_all_tests().
#pragma once

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <exception>
#include <sstream>
#include <string>
#include <type_traits>
#include <vector>

namespace testing {

inline constexpr int kDeadlineSeconds = 60;

// NOLINTBEGIN(readability-identifier-naming): as the original
class Test {
  public:
    virtual ~Test() = default;
    Test() = default;
    Test(const Test&) = delete;
    Test& operator=(const Test&) = delete;

    virtual void SetUp() {}
    virtual void TearDown() {}
    virtual void TestBody() = 0;

    // In this process.
    static bool HasFailure() { return has_failure; }

    static inline bool has_failure = false;
};
// NOLINTEND(readability-identifier-naming)

namespace internal {

struct Registered {
    std::string name;  // SUITE.TEST
    Test* (*make)();
};

inline std::vector<Registered>& all_tests() {
    static std::vector<Registered> tests;
    return tests;
}

inline bool add_test(const char* suite, const char* name, Test* (*make)()) {
    all_tests().push_back({std::string(suite) + "." + name, make});
    return true;
}

template <class Value>
void print(std::ostream& out, const Value& value) {
    if constexpr (std::is_enum_v<Value>) {
        out << static_cast<long long>(value);
    } else if constexpr (std::is_null_pointer_v<Value>) {
        out << "null";
    } else if constexpr (requires { out << value; }) {
        out << value;
    } else {
        out << "what cannot be printed";
    }
}

// What a test adds to an expectation with <<.
class Message {
  public:
    template <class Value>
    Message& operator<<(const Value& value) {
        print(text_, value);
        return *this;
    }
    [[nodiscard]] std::string text() const { return text_.str(); }

  private:
    std::ostringstream text_;
};

// An expectation that did not hold. Text that is assigned to it is printed with it.
struct Failure {
    const char* file;
    int line;
    std::string what;

    void operator=(const Message& message) const {  // NOLINT(misc-unconventional-assign-operator)
        Test::has_failure = true;
        const std::string more = message.text();
        std::fprintf(stderr, "%s:%d: %s%s%s\n", file, line, what.c_str(), more.empty() ? "" : ": ",
                     more.c_str());
    }
};

struct Outcome {
    bool holds;
    std::string what;
};

template <class Left, class Right>
Outcome outcome(bool holds, const char* text, const Left& left, const Right& right) {
    if (holds) return {true, ""};
    std::ostringstream out;
    out << text << " (";
    print(out, left);
    out << " and ";
    print(out, right);
    out << ")";
    return {false, out.str()};
}

#define TESSERA_COMPARISON(name, op)                                       \
    template <class Left, class Right>                                     \
    Outcome name(const char* text, const Left& left, const Right& right) { \
        return outcome(left op right, text, left, right);                  \
    }
TESSERA_COMPARISON(is_eq, ==)
TESSERA_COMPARISON(is_ne, !=)
TESSERA_COMPARISON(is_lt, <)
TESSERA_COMPARISON(is_le, <=)
TESSERA_COMPARISON(is_gt, >)
TESSERA_COMPARISON(is_ge, >=)
#undef TESSERA_COMPARISON

inline Outcome is_near(const char* text, double left, double right, double error) {
    return outcome(std::abs(left - right) <= error, text, left, right);
}

inline Outcome is_same_text(const char* text, const char* left, const char* right) {
    const bool has_both = left != nullptr && right != nullptr;
    return outcome(has_both ? std::strcmp(left, right) == 0 : left == right, text,
                   left != nullptr ? left : "null", right != nullptr ? right : "null");
}

// '*' matches any text, '?' any character.
inline bool matches(const char* pattern, const char* end, const char* name) {
    if (pattern == end) return *name == '\0';
    if (*pattern == '*') {
        return matches(pattern + 1, end, name) ||
               (*name != '\0' && matches(pattern, end, name + 1));
    }
    return *name != '\0' && (*pattern == '?' || *pattern == *name) &&
           matches(pattern + 1, end, name + 1);
}

// Patterns are separated by ':'; those after a '-' exclude tests.
inline bool is_chosen(const std::string& filter, const std::string& name) {
    const auto any = [&](const std::string& patterns) {
        for (std::size_t at = 0; at <= patterns.size();) {
            const std::size_t end = std::min(patterns.find(':', at), patterns.size());
            if (matches(patterns.data() + at, patterns.data() + end, name.c_str())) return true;
            at = end + 1;
        }
        return false;
    };
    const std::size_t minus = std::min(filter.find('-'), filter.size());
    const std::string wanted = filter.substr(0, minus);
    const bool is_wanted = wanted.empty() || any(wanted);
    return is_wanted && (minus == filter.size() || !any(filter.substr(minus + 1)));
}

inline void run_here(const Registered& test) {
    try {
        Test* made = test.make();
        made->SetUp();
        if (!Test::has_failure) made->TestBody();
        made->TearDown();
        delete made;
    } catch (const std::exception& error) {
        Failure{"", 0, "thrown"} = Message() << error.what();
    }
}

inline bool run(const Registered& test) {
    std::fflush(nullptr);
    const pid_t pid = fork();
    if (pid < 0) return false;
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        run_here(test);
        std::fflush(nullptr);
        _exit(Test::has_failure ? 1 : 0);
    }
    int status = -1;
    for (int waited_ms = 0; waitpid(pid, &status, WNOHANG) == 0; waited_ms += 5) {
        usleep(5000);
        if (waited_ms < kDeadlineSeconds * 1000) continue;
        std::printf("%s: no end after %d s\n", test.name.c_str(), kDeadlineSeconds);
        kill(pid, SIGKILL);
        waitpid(pid, &status, 0);
        return false;
    }
    if (WIFSIGNALED(status))
        std::printf("%s: %s\n", test.name.c_str(), strsignal(WTERMSIG(status)));
    return status == 0;
}

}  // namespace internal

// Accepts --gtest_filter=PATTERNS. Returns 0 if all tests pass.
inline int run_all_tests(int argc, char** argv) {
    std::string filter;
    for (int i = 1; i < argc; i++)
        if (std::strncmp(argv[i], "--gtest_filter=", 15) == 0) filter = argv[i] + 15;
    int failed = 0;
    for (const internal::Registered& test : internal::all_tests()) {
        if (!internal::is_chosen(filter, test.name)) continue;
        const bool holds = internal::run(test);
        failed += holds ? 0 : 1;
        std::printf("[ %s ] %s\n", holds ? "      OK" : " FAILED ", test.name.c_str());
        std::fflush(stdout);
    }
    return failed == 0 ? 0 : 1;
}

}  // namespace testing

// NOLINTBEGIN(bugprone-macro-parentheses): as the original
#define TESSERA_TEST(suite, name, parent)                                                   \
    class suite##_##name : public parent {                                                  \
        void TestBody() override;                                                           \
        static testing::Test* make() {                                                      \
            return new suite##_##name;                                                      \
        }                                                                                   \
        static inline const bool kAdded = testing::internal::add_test(#suite, #name, make); \
    };                                                                                      \
    void suite##_##name::TestBody()
#define TEST(suite, name) TESSERA_TEST(suite, name, testing::Test)
#define TEST_F(suite, name) TESSERA_TEST(suite, name, suite)

#define TESSERA_CHECK_THAT(reaction, found)                                          \
    switch (0)                                                                       \
    case 0:                                                                          \
    default:                                                                         \
        if (const testing::internal::Outcome outcome_ = (found); outcome_.holds) {   \
        } else                                                                       \
            reaction testing::internal::Failure{__FILE__, __LINE__, outcome_.what} = \
                testing::internal::Message()
#define TESSERA_COMPARE(reaction, function, text, left, right) \
    TESSERA_CHECK_THAT(reaction, testing::internal::function(text, left, right))
#define EXPECT_EQ(left, right) TESSERA_COMPARE(, is_eq, #left ", " #right, left, right)
#define EXPECT_NE(left, right) TESSERA_COMPARE(, is_ne, #left ", " #right, left, right)
#define EXPECT_LT(left, right) TESSERA_COMPARE(, is_lt, #left ", " #right, left, right)
#define EXPECT_LE(left, right) TESSERA_COMPARE(, is_le, #left ", " #right, left, right)
#define EXPECT_GT(left, right) TESSERA_COMPARE(, is_gt, #left ", " #right, left, right)
#define EXPECT_GE(left, right) TESSERA_COMPARE(, is_ge, #left ", " #right, left, right)
#define ASSERT_EQ(left, right) TESSERA_COMPARE(return, is_eq, #left ", " #right, left, right)
#define EXPECT_STREQ(left, right) TESSERA_COMPARE(, is_same_text, #left ", " #right, left, right)
#define EXPECT_NEAR(left, right, error) \
    TESSERA_CHECK_THAT(, testing::internal::is_near(#left ", " #right, left, right, error))
#define EXPECT_TRUE(value) TESSERA_CHECK_THAT(, (testing::internal::Outcome{value, #value}))
#define EXPECT_FALSE(value) TESSERA_CHECK_THAT(, (testing::internal::Outcome{!(value), #value}))
#define ADD_FAILURE() \
    testing::internal::Failure{__FILE__, __LINE__, "failed"} = testing::internal::Message()
// NOLINTEND(bugprone-macro-parentheses)
