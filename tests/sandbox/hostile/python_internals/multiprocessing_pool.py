# verdicts: AC
# why: an ordinary pool of processes, with its semaphores and helper threads, ends as it should
# time_limit_s: 2
# memory_limit_mb: 128
import multiprocessing


def square(x):
    return x * x


if __name__ == "__main__":
    with multiprocessing.get_context("fork").Pool(2) as pool:
        print("contained" if pool.map(square, range(10)) == [x * x for x in range(10)] else "wrong")
