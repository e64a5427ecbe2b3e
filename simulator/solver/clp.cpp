#include "simulator/solver/clp.hpp"

#include <coin/Clp_C_Interface.h>
#include <fmt/format.h>

namespace tessera {
namespace {

// CLP's codes for how it ended (Clp_status).
enum class Ending { optimal = 0, infeasible = 1, unbounded = 2, stopped = 3, failed = 4 };

class Clp final : public LinearProgram {
  public:
    Clp(std::span<const LpRow> rows, ClpLimits limits)
        : model_(Clp_newModel()), rows_(static_cast<int>(rows.size())), limits_(limits) {
        Clp_setLogLevel(model_, 0);
        Clp_setOptimizationDirection(model_, 1);
        std::vector<double> least;
        std::vector<double> most;
        for (const LpRow& row : rows) {
            least.push_back(row.least);
            most.push_back(row.most);
        }
        const std::vector<int> starts(rows.size() + 1, 0);
        Clp_addRows(model_, rows_, least.data(), most.data(), starts.data(), nullptr, nullptr);
    }
    ~Clp() override { Clp_deleteModel(model_); }
    Clp(const Clp&) = delete;
    Clp& operator=(const Clp&) = delete;

    Result<LpSolution> maximise_with(std::span<const LpColumn> more) override {
        add(more);
        Clp_setMaximumIterations(model_, Clp_getIterationCount(model_) + limits_.iterations);
        Clp_primal(model_, 0);
        switch (const int status = Clp_status(model_); static_cast<Ending>(status)) {
            case Ending::optimal:
                return solution();
            case Ending::infeasible:
                return fail(Code::invalid_argument, "the linear program has no solution");
            case Ending::unbounded:
                return fail(Code::invalid_argument, "the linear program's gain has no limit");
            case Ending::stopped:
                return fail(Code::internal,
                            fmt::format("the linear program is not solved after {} iterations",
                                        limits_.iterations));
            case Ending::failed:
            default:
                return fail(Code::internal, fmt::format("CLP gave up with status {}", status));
        }
    }

  private:
    void add(std::span<const LpColumn> more) {
        std::vector<double> costs;
        std::vector<int> starts = {0};
        std::vector<int> rows;
        std::vector<double> values;
        for (const LpColumn& column : more) {
            costs.push_back(
                -column.gain);  // CLP's dual values have a fixed sign only if it minimises
            for (const LpEntry& entry : column.entries) {
                rows.push_back(entry.row);
                values.push_back(entry.value);
            }
            starts.push_back(static_cast<int>(rows.size()));
        }
        // Without limits, x >= 0.
        Clp_addColumns(model_, static_cast<int>(more.size()), nullptr, nullptr, costs.data(),
                       starts.data(), rows.data(), values.data());
    }

    [[nodiscard]] LpSolution solution() const {
        LpSolution solution{.gain = -Clp_objectiveValue(model_)};
        const std::span duals(Clp_dualRowSolution(model_), static_cast<std::size_t>(rows_));
        for (const double dual : duals)
            solution.prices.push_back(-dual);
        return solution;
    }

    Clp_Simplex* model_;
    int rows_;
    ClpLimits limits_;
};

}  // namespace

std::unique_ptr<LinearProgram> make_clp(std::span<const LpRow> rows, ClpLimits limits) {
    return std::make_unique<Clp>(rows, limits);
}

}  // namespace tessera
