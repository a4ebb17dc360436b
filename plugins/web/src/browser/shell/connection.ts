import { signal } from '@preact/signals'
import { isOfProxy } from '../refusal.ts'

/** Whether the node does not answer. */
export const isAway = signal(false)

let waiting: Promise<void> | null = null
let wasEverAway = false

/** Whether the node has not answered, at any time since the page was opened. */
export function wasAway(): boolean {
  return wasEverAway
}

/** Like `fetch`. It rejects with a TypeError also if a proxy answers, because the node is away. */
export async function askNode(path: string, init: RequestInit): Promise<Response> {
  const answer = await fetch(path, init)
  if (isOfProxy(answer.status, answer.headers.get('content-type'))) throw new TypeError(answer.statusText)
  return answer
}

/** Resolves when the node answers. It asks after pauses that grow from half a second to ten, and at once if the network returns or the person comes back. */
export function nodeAnswers(): Promise<void> {
  waiting ??= untilAnswer().finally(() => {
    waiting = null
    isAway.value = false
  })
  return waiting
}

async function untilAnswer(): Promise<void> {
  for (let pauseMs = 500; !(await answers()); pauseMs = Math.min(pauseMs * 1.5, 10_000)) {
    isAway.value = true
    wasEverAway = true
    await pause(pauseMs)
  }
}

async function answers(): Promise<boolean> {
  try {
    // A proxy answers with 502 to 504 for a node that is away.
    return (await fetch('/whoami', { cache: 'no-store' })).status < 500
  } catch {
    return false
  }
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer)
      removeEventListener('online', end)
      removeEventListener('focus', end)
      resolve()
    }
    const timer = setTimeout(end, ms)
    addEventListener('online', end)
    addEventListener('focus', end)
  })
}
