// What the measured window of a churn() saw: who waited for how long, what was held, and what moves
// took.
#pragma once

#include <span>
#include <vector>

#include "app/sim/churn.hpp"

namespace tessera {

// How long who came waited: of tasks, or of gangs.
class Waits {
  public:
    void note_asked(double milli) { asked_milli_ += milli; }
    void note_waits() { ++waited_; }
    void note_placed(double after_s) { waits_.push_back(after_s); }
    void note_gave_up(double after_s, double milli) {
        waits_.push_back(after_s);
        refused_milli_ += milli;
    }

    ChurnWaits result();

  private:
    double asked_milli_ = 0;
    double refused_milli_ = 0;
    std::size_t waited_ = 0;
    std::vector<double> waits_;
};

// What changes now and then, in the mean over the window's time.
class Level {
  public:
    explicit Level(const ChurnWindow& window) : window_(window) {}

    void add(double at_s, double by) { set(at_s, value_ + by); }
    void set(double at_s, double value);
    double mean();

  private:
    const ChurnWindow window_;
    double value_ = 0;
    double sum_ = 0;  // value x seconds
    double since_s_ = window_.from_s;
};

// Thousandths of cards that the task, or the whole gang, asks for.
double milli_of_all(const ChurnTask& task);

// Instants do not go backwards. `tasks` outlive it.
class Ledger {
  public:
    Ledger(std::span<const ChurnTask> tasks, const ChurnWindow& window)
        : tasks_(tasks), window_(window), held_(window), fragments_(window) {}

    // The cards held change at that time.
    void hold(double at_s, double by_milli) { held_.add(at_s, by_milli); }
    // FGD's fragmentation of all nodes, from then on.
    void note_fragments(double at_s, double milli) { fragments_.set(at_s, milli); }
    void note_placed(std::size_t task, double at_s);
    // It fitted nowhere when it came.
    void note_waits(std::size_t task) {
        if (counts(task)) waits_of(task).note_waits();
    }
    void note_gave_up(std::size_t task);
    // A plan is made for it.
    void note_sought() { ++moves_.plans; }
    void note_astray() { ++moves_.astray; }
    // Room was made for it.
    void note_helped(std::size_t task, double at_s);
    // One that ran is ended and begins again, and so much of its work is done twice.
    void note_evicted(std::size_t task, double at_s, double lost_s);

    // All but the moves and the decisions.
    ChurnResult result(double capacity_milli);
    [[nodiscard]] ChurnMoves moves(double capacity_milli) const;

  private:
    // Whether it came in the window.
    [[nodiscard]] bool counts(std::size_t task) const { return is_measured(tasks_[task].comes_s); }
    [[nodiscard]] bool is_measured(double at_s) const {
        return at_s >= window_.from_s && at_s < window_.to_s;
    }
    Waits& waits_of(std::size_t task) { return tasks_[task].gang > 1 ? gangs_ : single_; }

    std::span<const ChurnTask> tasks_;
    const ChurnWindow window_;
    Level held_;
    Level fragments_;
    Waits single_;
    Waits gangs_;
    ChurnMoves moves_;
    double lost_milli_s_ = 0;
};

}  // namespace tessera
