#include "domain/training/sync_flags.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "base/ascii.hpp"
#include "base/dns_name.hpp"
#include "domain/workload/refuse_flag.hpp"
#include "domain/workload/shell_text.hpp"

namespace tessera::workload {
namespace {

constexpr std::string_view kSourceFlag = "--sync-source";
constexpr std::string_view kExample = "https://example.com/team/train.git";

// The variables of git-sync, by their names in version 4 and in version 3, which Arena uses.
// Source: git-sync's README and v3-to-v4.md.
struct SyncVariable {
    std::string_view name;
    std::string_view earlier;
};
constexpr SyncVariable kRepo{"GITSYNC_REPO", "GIT_SYNC_REPO"};
constexpr SyncVariable kRoot{"GITSYNC_ROOT", "GIT_SYNC_ROOT"};
constexpr SyncVariable kLink{"GITSYNC_LINK", "GIT_SYNC_DEST"};
constexpr SyncVariable kOneTime{"GITSYNC_ONE_TIME", "GIT_SYNC_ONE_TIME"};
constexpr SyncVariable kSsh{"GITSYNC_SSH", "GIT_SYNC_SSH"};
constexpr SyncVariable kUser{"GITSYNC_USERNAME", "GIT_SYNC_USERNAME"};
constexpr SyncVariable kPassword{"GITSYNC_PASSWORD", "GIT_SYNC_PASSWORD"};
constexpr SyncVariable kBranch{"GITSYNC_REF", "GIT_SYNC_BRANCH"};
constexpr SyncVariable kRevision{"GITSYNC_REF", "GIT_SYNC_REV"};
// Without it the first failure to reach the repository ends the job. git-sync pauses for 10 seconds
// between its tries.
constexpr SyncVariable kMaxFailures{"GITSYNC_MAX_FAILURES", "GIT_SYNC_MAX_SYNC_FAILURES"};
constexpr const char* kTries = "3";

// Which commit: a flag and a variable of the user cannot both say it.
constexpr auto kRefNames =
    std::to_array<std::string_view>({kBranch.name, kBranch.earlier, kRevision.earlier});

constexpr auto kPrefixes = std::to_array<std::string_view>({"GITSYNC_", "GIT_SYNC_"});
// Names of version 3 without its prefix.
constexpr auto kOddNames =
    std::to_array<std::string_view>({"GIT_SSH_KEY_FILE", "GIT_KNOWN_HOSTS", "GIT_COOKIE_FILE",
                                     "GIT_SSH_KNOWN_HOSTS_FILE", "GIT_ASKPASS_URL"});
// The program and git-sync may need the same proxy.
constexpr auto kProxies =
    std::to_array<std::string_view>({"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY",
                                     "http_proxy", "https_proxy", "no_proxy", "all_proxy"});
// Their values may only be in a Secret.
constexpr auto kConfidential =
    std::to_array<std::string_view>({"GITSYNC_PASSWORD", "GIT_SYNC_PASSWORD", "GITSYNC_CREDENTIAL",
                                     "GITSYNC_GITHUB_APP_PRIVATE_KEY"});

bool is_among(const auto& names, std::string_view name) {
    return std::ranges::find(names, name) != names.end();
}

bool is_of_git_sync(std::string_view name) {
    return is_among(kOddNames, name) || std::ranges::any_of(kPrefixes, [&](std::string_view start) {
               return name.starts_with(start);
           });
}

tl::unexpected<Error> bad_source(std::string_view url, std::string_view what) {
    return refuse(kSourceFlag, fmt::format("\"{}\" {}", url, what));
}

tl::unexpected<Error> has_credentials() {
    return refuse(
        kSourceFlag,
        "has a user name or a password in it, which the job would show; put them into a Secret, "
        "with the keys username and password, and name it with --sync-secret");
}

// The characters that URLs of git have. A query may have a token.
bool is_url_text(std::string_view text) {
    constexpr std::string_view kOthers = "-._~:/@%+,=";
    return std::ranges::all_of(
        text, [&](char c) { return is_alnum(c) || kOthers.find(c) != std::string_view::npos; });
}

// The last part of the path, which names the folder with the code.
Result<std::string> repository_name(std::string_view url, std::string_view path) {
    while (path.ends_with('/'))
        path.remove_suffix(1);
    std::string_view name = path.substr(path.rfind('/') + 1);  // npos + 1 is 0
    if (name.ends_with(".git")) name.remove_suffix(4);
    const auto is_part = [](char c) { return is_alnum(c) || c == '.' || c == '_' || c == '-'; };
    const bool is_name = !name.empty() && is_alnum(name[0]) && std::ranges::all_of(name, is_part);
    if (is_name) return std::string(name);
    return bad_source(
        url, fmt::format("does not end with the name of a repository, as in {}", kExample));
}

// What git accepts as the name of a branch or tag, without the rarer forms.
Result<> check_ref(std::string_view flag, std::string_view text) {
    constexpr std::string_view kForbidden = " ~^:?*[\\$";
    const bool is_ref =
        !text.starts_with('-') && text.find("..") == std::string_view::npos &&
        std::ranges::all_of(text, [&](char c) {
            return c > ' ' && c < 0x7f && kForbidden.find(c) == std::string_view::npos;
        });
    if (is_ref) return {};
    return refuse(flag, fmt::format("\"{}\" is not a name that git accepts", text));
}

Result<> check_flags(const SyncFlags& flags) {
    if (flags.mode == "rsync") {
        return refuse("--sync-mode",
                      "rsync is not supported; use git, or put the code on a volume (--data), or "
                      "upload a small script (--config-file)");
    }
    if (flags.mode != "git")
        return refuse("--sync-mode", fmt::format("\"{}\" is not git", flags.mode));
    if (!flags.branch.empty() && !flags.revision.empty())
        return refuse("--sync-revision", "cannot be used with --sync-branch; write one of them");
    TRY_VOID(check_ref("--sync-branch", flags.branch));
    TRY_VOID(check_ref("--sync-revision", flags.revision));
    if (!flags.secret.empty() && !is_dns_name(flags.secret))
        return refuse("--sync-secret", "is not the name of a Secret");
    return {};
}

// The other flags have no meaning without a mode.
Result<> check_no_flags(const SyncFlags& flags) {
    for (const auto& [flag, value] : {std::pair(kSourceFlag, &flags.source),
                                      {"--sync-image", &flags.image},
                                      {"--sync-branch", &flags.branch},
                                      {"--sync-revision", &flags.revision},
                                      {"--sync-secret", &flags.secret}}) {
        if (!value->empty()) return refuse(flag, "needs --sync-mode git");
    }
    return {};
}

void add(CodeSync& code, const SyncVariable& variable, const std::string& value) {
    for (const std::string_view name : {variable.name, variable.earlier})
        code.env.push_back({.name = std::string(name), .value = unexpanded(value)});
}

void add_secret(CodeSync& code, const SyncVariable& variable, const std::string& secret,
                const std::string& key) {
    for (const std::string_view name : {variable.name, variable.earlier}) {
        code.env.push_back(
            {.name = std::string(name), .value = {}, .secret = secret, .secret_key = key});
    }
}

Result<> add_credentials(const SyncFlags& flags, GitTransport transport, CodeSync& code) {
    if (transport == GitTransport::ssh) {
        if (flags.secret.empty()) {
            return refuse("--sync-secret",
                          "is missing: ssh needs a Secret with the keys ssh and known_hosts");
        }
        add(code, kSsh, "true");
        code.secret = flags.secret;
    } else if (!flags.secret.empty()) {
        if (transport == GitTransport::git)
            return refuse("--sync-secret", "cannot be used with git://; use https:// or ssh://");
        add_secret(code, kUser, flags.secret, "username");
        add_secret(code, kPassword, flags.secret, "password");
    }
    return {};
}

// Gives the user's variables of git-sync to it. They cannot replace what the flags say.
Result<> move_variables(bool has_ref, PodTemplate& pod, CodeSync& code) {
    const auto is_set = [&, flags = code.env](const std::string& name) {
        return (has_ref && is_among(kRefNames, name)) ||
               std::ranges::find(flags, name, &EnvVar::name) != flags.end();
    };
    std::vector<EnvVar> kept;
    for (EnvVar& variable : pod.env) {
        const bool is_moved = is_of_git_sync(variable.name);
        if (is_moved && variable.secret.empty() && is_among(kConfidential, variable.name)) {
            return refuse("--env", fmt::format("{} is a password; put it into a Secret, and name "
                                               "it with --sync-secret",
                                               variable.name));
        }
        if (is_moved && is_set(variable.name)) {
            return refuse("--env", fmt::format("{} is what a flag of --sync says already; leave "
                                               "out the variable",
                                               variable.name));
        }
        if (is_moved || is_among(kProxies, variable.name)) code.env.push_back(variable);
        if (!is_moved) kept.push_back(std::move(variable));
    }
    pod.env = std::move(kept);
    return {};
}

}  // namespace

Result<GitSource> parse_git_source(std::string_view url) {
    if (url.empty())
        return refuse(kSourceFlag, fmt::format("is missing; write a URL such as {}", kExample));
    std::string_view rest = url;
    GitSource out;
    const std::size_t scheme = url.find("://");
    if (scheme == std::string_view::npos) {
        // USER@HOST:PATH
        const std::size_t colon = url.find(':');
        const std::string_view host = url.substr(0, colon);
        if (colon == std::string_view::npos || host.find('/') != std::string_view::npos ||
            host.empty() || host.starts_with('-')) {
            return bad_source(
                url, fmt::format("is not the URL of a git repository, such as {}", kExample));
        }
        rest = url.substr(colon + 1);
        if (host.find('@') == std::string_view::npos && rest.find('@') != std::string_view::npos)
            return has_credentials();
        out.transport = GitTransport::ssh;
    } else {
        const std::string_view word = url.substr(0, scheme);
        if (word == "ssh") out.transport = GitTransport::ssh;
        if (word == "git") out.transport = GitTransport::git;
        const bool is_known = word == "https" || word == "http" || word == "ssh" || word == "git";
        rest = url.substr(scheme + 3);
        const std::string_view authority = rest.substr(0, rest.find('/'));
        const std::size_t at = authority.rfind('@');
        const std::string_view user =
            at == std::string_view::npos ? std::string_view() : authority.substr(0, at);
        const bool is_plain_user =
            word == "ssh" ? user.find(':') == std::string_view::npos : user.empty();
        if (!is_plain_user) return has_credentials();
        if (!is_known)
            return bad_source(url, "does not begin with https://, http://, ssh:// or git://");
        if (authority.empty() || authority.starts_with('-') || authority.size() == rest.size()) {
            return bad_source(url, fmt::format("has no host or no path, as {} has", kExample));
        }
        rest.remove_prefix(authority.size());
    }
    if (!is_url_text(url)) {
        return refuse(kSourceFlag, fmt::format("has a character that no URL of a repository has; "
                                               "write it without a query, as in {}",
                                               kExample));
    }
    TRY(out.name, repository_name(url, rest));
    return out;
}

Result<> add_code(const SyncFlags& flags, PodTemplate& pod) {
    if (flags.mode.empty()) return check_no_flags(flags);
    TRY_VOID(check_flags(flags));
    TRY(const GitSource source, parse_git_source(flags.source));
    if (pod.working_dir.empty()) pod.working_dir = kCodeWorkingDir;
    CodeSync code{.image = flags.image.empty() ? std::string(kGitSyncImage) : flags.image,
                  .env = {},
                  .secret = {},
                  .path = pod.working_dir + (pod.working_dir.ends_with('/') ? "code" : "/code")};
    if (std::ranges::find(pod.mounts, code.path, &Mount::path) != pod.mounts.end()) {
        return refuse("--sync-mode",
                      fmt::format("the code comes to {}, where another flag mounts a volume; "
                                  "choose another --working-dir",
                                  code.path));
    }
    add(code, kRepo, flags.source);
    add(code, kRoot, std::string(kCodeRoot));
    add(code, kLink, source.name);
    add(code, kOneTime, "true");
    if (!flags.branch.empty()) add(code, kBranch, flags.branch);
    if (!flags.revision.empty()) add(code, kRevision, flags.revision);
    TRY_VOID(add_credentials(flags, source.transport, code));
    const bool has_ref = !flags.branch.empty() || !flags.revision.empty();
    TRY_VOID(move_variables(has_ref, pod, code));
    const auto is_set = [&code](std::string_view name) {
        return std::ranges::find(code.env, name, &EnvVar::name) != code.env.end();
    };
    if (!is_set(kMaxFailures.name) && !is_set(kMaxFailures.earlier))
        add(code, kMaxFailures, kTries);
    pod.code = std::move(code);
    return {};
}

}  // namespace tessera::workload
