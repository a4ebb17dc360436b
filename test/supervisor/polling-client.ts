import { get } from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'

/** The results of a client that polled while something happened. */
export interface Seen {
  /** The errors of connections, and answers with other codes than 200. */
  readonly failures: readonly string[]
  readonly longestMs: number
  /** The number of requests. */
  readonly count: number
}

/** Requests at a time. A busy machine answers later than the next request is due, and more of them would make it busier. */
const maxOpen = 10

/** Asks every 10 ms, each time on a connection of its own, while something happens. */
export async function pollDuring(url: URL, work: () => Promise<unknown>): Promise<Seen> {
  const failures: string[] = []
  const open = new Set<Promise<void>>()
  let longestMs = 0
  let count = 0
  let isOver = false
  const poll = async () => {
    const began = performance.now()
    const problem = await problemOf(url)
    longestMs = Math.max(longestMs, performance.now() - began)
    if (problem !== null) failures.push(problem)
  }
  const polling = (async () => {
    while (!isOver) {
      while (open.size >= maxOpen) await Promise.race(open)
      count += 1
      const one = poll().finally(() => open.delete(one))
      open.add(one)
      await delay(10)
    }
    await Promise.all(open)
  })()
  try {
    await work()
  } finally {
    isOver = true
    await polling
  }
  return { failures, longestMs, count }
}

/** Asks once, and returns what went wrong; `null` if the answer is good. */
function problemOf(url: URL): Promise<string | null> {
  return new Promise((resolve) => {
    const request = get(url, { agent: false }, (answer) => {
      answer.resume().on('end', () => resolve(answer.statusCode === 200 ? null : `${answer.statusCode}`))
      answer.on('error', (error) => resolve(error.message))
    })
    request.on('error', (error) => resolve(error.message))
  })
}
