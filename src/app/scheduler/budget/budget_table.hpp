// The namespaces with budgets, as they were when the controller last evaluated them.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/mutex.hpp"
#include "domain/budget/governed_namespace.hpp"

namespace tessera {

// Any thread may call. Evaluations replace the whole table, so that admission never waits for one.
class BudgetTable {
  public:
    using Rows = std::map<std::string, GovernedNamespace>;  // by namespace

    void replace(Rows rows) {
        auto next = std::make_shared<const Rows>(std::move(rows));
        const MutexLock lock(mutex_);
        rows_ = std::move(next);
    }
    [[nodiscard]] std::shared_ptr<const Rows> rows() const {
        const MutexLock lock(mutex_);
        return rows_;
    }
    // Nothing for a namespace without a budget.
    [[nodiscard]] std::optional<GovernedNamespace> find(const std::string& ns) const {
        const auto rows = this->rows();
        const auto found = rows->find(ns);
        if (found == rows->end()) return std::nullopt;
        return found->second;
    }

  private:
    mutable Mutex mutex_;
    std::shared_ptr<const Rows> rows_ TESSERA_GUARDED_BY(mutex_) = std::make_shared<const Rows>();
};

}  // namespace tessera
