// Figures are printed on stdout: figure | goal | measured | holds. Progress is on stderr.
#pragma once

#include <cstdio>
#include <string>

namespace tessera::guard {

class Figures {
  public:
    // A quick run does not judge figures that a busy machine makes worse.
    explicit Figures(bool is_quick) : is_quick_(is_quick) {}

    [[nodiscard]] bool is_quick() const { return is_quick_; }
    [[nodiscard]] bool all_hold() const { return all_hold_; }

    // A figure for comparison or information, without a goal.
    void shown(const std::string& name, const std::string& measured) const {
        line(name, "-", measured, "-");
    }
    void judged(const std::string& name, const std::string& goal, const std::string& measured,
                bool holds) {
        all_hold_ &= holds;
        line(name, goal, measured, holds ? "holds" : "falls short");
    }
    void at_most(const std::string& name, double goal, double measured, const char* unit) {
        const std::string text = number(measured, unit);
        if (is_quick_) {
            shown(name, text);
        } else {
            judged(name, "<= " + number(goal, unit), text, measured <= goal);
        }
    }
    void exactly(const std::string& name, double goal, double measured, const char* unit) {
        judged(name, "= " + number(goal, unit), number(measured, unit), measured == goal);
    }

    static std::string number(double value, const char* unit) {
        char text[64];
        std::snprintf(text, sizeof text, "%.6g %s", value, unit);
        return text;
    }

  private:
    static void line(const std::string& name, const std::string& goal, const std::string& measured,
                     const char* holds) {
        std::printf("%s | %s | %s | %s\n", name.c_str(), goal.c_str(), measured.c_str(), holds);
        std::fflush(stdout);
    }

    bool is_quick_;
    bool all_hold_ = true;
};

// Each prints what it found, and goes on whatever that is.
void check_memory(Figures& figures);
void answer_questions(Figures& figures);
void check_costs(Figures& figures);
void check_shares(Figures& figures);

}  // namespace tessera::guard
