import { setTimeout as delay } from 'node:timers/promises'
import { answerOf, type NodeClient } from '@nodekeep/plugin-sdk'
import type { NodeAnswers } from '@nodekeep/plugin-sdk/node-answers'

type Published = NodeAnswers['POST /api/ipfs/publish']

interface PublishInTimeOptions {
  readonly signal: AbortSignal
  /** Milliseconds after which a call that waits is made again. Node's `fetch` gives up after 300,000. */
  readonly callMs: number
}

/**
 * Publishes, however long it takes: a call for a path that is being published waits for the same end.
 *
 * @throws Error with the node's message; the reason of the signal
 */
export async function publishInTime(
  node: Pick<NodeClient, 'fetch'>,
  path: string,
  { signal, callMs }: PublishInTimeOptions,
): Promise<Published> {
  const call = {
    method: 'POST',
    body: JSON.stringify({ path }),
    headers: { 'content-type': 'application/json' },
    signal,
  }
  for (;;) {
    const answer = answerOf<Published>(node.fetch('/api/ipfs/publish', call))
    const timer = new AbortController()
    const late = delay(callMs, null, { signal: timer.signal }).catch(() => null)
    const published = await Promise.race([answer, late]).finally(() => timer.abort())
    if (published !== null) return published
    // It waits until the next call has long arrived.
    answer.catch(() => {})
  }
}
