#include "domain/training/sync_flags.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace tessera::workload {
namespace {

SyncFlags git(const std::string& source = "https://example.com/team/train.git") {
    return {
        .mode = "git", .source = source, .image = {}, .branch = {}, .revision = {}, .secret = {}};
}

const EnvVar* variable(const std::vector<EnvVar>& env, std::string_view name) {
    const auto at = std::ranges::find(env, name, &EnvVar::name);
    return at == env.end() ? nullptr : &*at;
}

std::string value(const std::vector<EnvVar>& env, std::string_view name) {
    const EnvVar* at = variable(env, name);
    return at == nullptr ? "missing" : at->value;
}

std::string error_of(const SyncFlags& flags, PodTemplate pod = {}) {
    const auto done = add_code(flags, pod);
    return done ? "none" : done.error().text;
}

TEST(GitSource, Urls) {
    const auto read = [](std::string_view url) {
        return parse_git_source(url).value_or(GitSource{.name = "refused"});
    };
    using enum GitTransport;
    EXPECT_EQ(read("https://example.com/team/train.git"), (GitSource{"train", http}));
    EXPECT_EQ(read("http://10.0.0.1:8080/train/"), (GitSource{"train", http}));
    EXPECT_EQ(read("git://example.com/a.b_c-d"), (GitSource{"a.b_c-d", git}));
    EXPECT_EQ(read("ssh://git@example.com:2222/team/train.git"), (GitSource{"train", ssh}));
    EXPECT_EQ(read("git@example.com:team/train.git"), (GitSource{"train", ssh}));
    EXPECT_EQ(read("example.com:train"), (GitSource{"train", ssh}));
    for (const std::string_view bad :
         {"", "train", "/srv/train.git", "file:///srv/train.git", "https://example.com",
          "https:///train.git", "https://example.com/", "https://example.com/.git",
          "https://example.com/..", "https://example.com/a b", "https://example.com/train.git?t=1",
          "ext::sh -c x", "-oProxyCommand=x:train", "ssh://-oProxyCommand=x/train", ":train",
          "https://example.com/$(NAME)", "https://example.com/\xc3\xa9"}) {
        EXPECT_FALSE(parse_git_source(bad)) << bad;
    }
}

// Goal: no password is accepted in a URL, and the error does not print it.
TEST(GitSource, Credentials) {
    for (const std::string_view url :
         {"https://user:secret@example.com/a", "https://secret@example.com/a",
          "ssh://git:secret@example.com/a", "git://u:secret@example.com/a",
          "git:secret@example.com:a", "ftp://u:secret@example.com/a"}) {
        const auto source = parse_git_source(url);
        ASSERT_FALSE(source) << url;
        EXPECT_NE(source.error().text.find("--sync-secret"), std::string::npos) << url;
        EXPECT_EQ(source.error().text.find("secret@"), std::string::npos) << url;
    }
}

// Goal: git-sync of version 4, and Arena's of version 3, copy into the folder that the main
// container has.
TEST(SyncFlags, Defaults) {
    PodTemplate pod;
    ASSERT_TRUE(add_code(git(), pod));
    ASSERT_TRUE(pod.code);
    EXPECT_EQ(pod.working_dir, "/root");
    EXPECT_EQ(pod.code->path, "/root/code");
    EXPECT_EQ(pod.code->image, kGitSyncImage);
    EXPECT_TRUE(pod.code->secret.empty() && pod.env.empty());
    const auto& env = pod.code->env;
    for (const char* name : {"GITSYNC_REPO", "GIT_SYNC_REPO"})
        EXPECT_EQ(value(env, name), "https://example.com/team/train.git");
    for (const char* name : {"GITSYNC_ROOT", "GIT_SYNC_ROOT"})
        EXPECT_EQ(value(env, name), "/code");
    for (const char* name : {"GITSYNC_LINK", "GIT_SYNC_DEST"})
        EXPECT_EQ(value(env, name), "train");
    for (const char* name : {"GITSYNC_ONE_TIME", "GIT_SYNC_ONE_TIME"})
        EXPECT_EQ(value(env, name), "true");
    EXPECT_EQ(env.size(), 10U);
}

TEST(SyncFlags, BranchAndRevision) {
    PodTemplate pod;
    pod.working_dir = "/app/";
    SyncFlags flags = git();
    flags.branch = "feature/x";
    flags.image = "git-sync:1";
    ASSERT_TRUE(add_code(flags, pod));
    EXPECT_EQ(pod.code->path, "/app/code");
    EXPECT_EQ(pod.code->image, "git-sync:1");
    EXPECT_EQ(value(pod.code->env, "GITSYNC_REF"), "feature/x");
    EXPECT_EQ(value(pod.code->env, "GIT_SYNC_BRANCH"), "feature/x");
    flags.branch.clear();
    flags.revision = "v1.2";
    ASSERT_TRUE(add_code(flags, pod));
    EXPECT_EQ(value(pod.code->env, "GITSYNC_REF"), "v1.2");
    EXPECT_EQ(value(pod.code->env, "GIT_SYNC_REV"), "v1.2");
    EXPECT_EQ(value(pod.code->env, "GIT_SYNC_BRANCH"), "missing");
}

// Goal: credentials come from a Secret, and only to git-sync.
TEST(SyncFlags, Secrets) {
    PodTemplate pod;
    SyncFlags flags = git();
    flags.secret = "git-token";
    ASSERT_TRUE(add_code(flags, pod));
    const EnvVar* password = variable(pod.code->env, "GITSYNC_PASSWORD");
    ASSERT_NE(password, nullptr);
    EXPECT_EQ(password->secret, "git-token");
    EXPECT_EQ(password->secret_key, "password");
    EXPECT_EQ(variable(pod.code->env, "GITSYNC_USERNAME")->secret_key, "username");
    EXPECT_TRUE(pod.code->secret.empty());
    flags.source = "git@example.com:train";
    ASSERT_TRUE(add_code(flags, pod));
    EXPECT_EQ(pod.code->secret, "git-token");
    EXPECT_EQ(variable(pod.code->env, "GITSYNC_PASSWORD"), nullptr);
    EXPECT_EQ(value(pod.code->env, "GITSYNC_SSH"), "true");
}

// Goal: one failure to reach the repository does not end the job, unless the user wants that.
TEST(SyncFlags, Tries) {
    PodTemplate pod;
    ASSERT_TRUE(add_code(git(), pod));
    EXPECT_EQ(value(pod.code->env, "GITSYNC_MAX_FAILURES"), "3");
    EXPECT_EQ(value(pod.code->env, "GIT_SYNC_MAX_SYNC_FAILURES"), "3");
    for (const char* name : {"GITSYNC_MAX_FAILURES", "GIT_SYNC_MAX_SYNC_FAILURES"}) {
        PodTemplate other;
        other.env = {{.name = name, .value = "0"}};
        ASSERT_TRUE(add_code(git(), other));
        EXPECT_EQ(std::ranges::count(other.code->env, "3", &EnvVar::value), 0);
        EXPECT_EQ(value(other.code->env, name), "0");
    }
}

// Goal: variables that Arena's users set for git-sync reach it, and not the program.
TEST(SyncFlags, Variables) {
    PodTemplate pod;
    pod.env = {{.name = "GIT_SYNC_BRANCH", .value = "main"},
               {.name = "GIT_SSH_KEY_FILE", .value = "/x"},
               {.name = "GIT_SYNC_PASSWORD", .value = {}, .secret = "token"},
               {.name = "HTTPS_PROXY", .value = "http://proxy"},
               {.name = "EPOCHS", .value = "3"}};
    const PodTemplate before = pod;
    ASSERT_TRUE(add_code(git(), pod));
    EXPECT_EQ(pod.env, (std::vector{before.env[3], before.env[4]}));
    EXPECT_EQ((std::vector<EnvVar>(pod.code->env.begin() + 8, pod.code->env.end() - 2)),
              (std::vector<EnvVar>(before.env.begin(), before.env.begin() + 4)));
    // Without code from git they are the program's.
    PodTemplate other = before;
    ASSERT_TRUE(add_code({}, other));
    EXPECT_EQ(other, before);
}

TEST(SyncFlags, Mistakes) {
    SyncFlags flags = git();
    flags.mode = "rsync";
    EXPECT_EQ(error_of(flags),
              "--sync-mode: rsync is not supported; use git, or put the code on a volume (--data), "
              "or upload a small script (--config-file)");
    flags.mode = "hdfs";
    EXPECT_EQ(error_of(flags), "--sync-mode: \"hdfs\" is not git");
    flags.mode = "";
    EXPECT_EQ(error_of(flags), "--sync-source: needs --sync-mode git");
    EXPECT_EQ(error_of(git("")),
              "--sync-source: is missing; write a URL such as "
              "https://example.com/team/train.git");
    EXPECT_EQ(error_of(git("git@example.com:train")),
              "--sync-secret: is missing: ssh needs a Secret with the keys ssh and known_hosts");
    flags = git();
    flags.branch = "main";
    PodTemplate pod;
    pod.env = {{.name = "GIT_SYNC_REV", .value = "v1"}};
    EXPECT_EQ(error_of(flags, pod),
              "--env: GIT_SYNC_REV is what a flag of --sync says already; "
              "leave out the variable");
    flags.revision = "v1";
    EXPECT_EQ(error_of(flags),
              "--sync-revision: cannot be used with --sync-branch; write one of them");
    for (const char* bad : {"-x", "a..b", "a b", "a~1", "$(X)", "\xc3\xa9"}) {
        flags = git();
        flags.branch = bad;
        EXPECT_NE(error_of(flags).find("is not a name that git accepts"), std::string::npos) << bad;
    }
    flags = git();
    flags.secret = "Not A Name";
    EXPECT_EQ(error_of(flags), "--sync-secret: is not the name of a Secret");
    pod.env = {{.name = "GIT_SYNC_PASSWORD", .value = "x"}};
    EXPECT_EQ(error_of(git(), pod),
              "--env: GIT_SYNC_PASSWORD is a password; put it into a Secret, "
              "and name it with --sync-secret");
    pod.env = {{.name = "GIT_SYNC_ROOT", .value = "/x"}};
    EXPECT_NE(error_of(git(), pod).find("GIT_SYNC_ROOT is what a flag"), std::string::npos);
    pod.env.clear();
    pod.mounts = {{VolumeKind::claim, "code", "/root/code"}};
    EXPECT_NE(error_of(git(), pod).find("another flag mounts a volume"), std::string::npos);
}

}  // namespace
}  // namespace tessera::workload
