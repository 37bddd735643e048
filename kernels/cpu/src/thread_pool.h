// A small pool for many short parallel loops a token.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

namespace di {

// Runs a loop's body for index 0..count-1 on the calling thread and the workers.
//
// Indices are claimed one by one, and the caller works too: a worker that the system has put aside claims nothing and
// so delays nobody, which keeps a loop fast on an oversubscribed machine. Who waits, for the next loop or for the last
// index, watches for about a microsecond (loops follow each other closely within a token), then lets others run on its
// core, and then sleeps: only an idle core fetches a thread that waits behind another one's.
class ThreadPool {
  public:
    explicit ThreadPool(int num_threads);
    ~ThreadPool();
    ThreadPool(const ThreadPool&) = delete;
    ThreadPool& operator=(const ThreadPool&) = delete;

    int num_threads() const { return static_cast<int>(workers_.size()) + 1; }

    template <typename F>
    void parallel_for(int32_t count, F&& body) {
        for (int32_t begin = 0; begin < count; begin += kMaxCount) {
            auto shifted = [&body, begin](int32_t index) { body(begin + index); };
            const auto call = [](void* context, int32_t index) { (*static_cast<decltype(shifted)*>(context))(index); };
            run(count - begin < kMaxCount ? count - begin : kMaxCount, call, &shifted);
        }
    }

  private:
    using Task = void (*)(void* context, int32_t index);
    static constexpr int32_t kMaxCount = 0xffff;

    void run(int32_t count, Task task, void* context);  // count <= kMaxCount
    void work();
    void worker_loop();
    bool wait_for_loop(uint32_t seen);
    void wait_for_others(int32_t count);
    void count_finished(int32_t count);

    // 32 bits of generation, 16 of the loop's count, 16 of its next unclaimed index, changed by compare-and-swap: a
    // claim succeeds only while the loop whose task was read is still the current one.
    std::atomic<uint64_t> state_{0};
    std::atomic<int32_t> finished_{0};
    std::atomic<Task> task_{nullptr};
    std::atomic<void*> context_{nullptr};

    std::mutex mutex_;
    std::condition_variable wake_, done_;
    std::atomic<int> sleepers_{0};
    std::atomic<bool> caller_sleeps_{false};
    std::atomic<bool> stopping_{false};
    std::vector<std::thread> workers_;
};

}  // namespace di
