import type { PageContext } from '@nodekeep/plugin-sdk/web-page'
import { accepted } from './refusal.ts'
import { texts } from './texts.ts'

/**
 * Sends a request, and resolves to the JSON of the answer.
 *
 * @throws Refusal with the words of the node; TypeError if it does not answer
 */
export async function request<T>(
  page: PageContext,
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE',
  path: string,
  body?: object,
  signal: AbortSignal | null = null,
): Promise<T> {
  const json = body && { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }
  const answer = await page.fetch(path, { method, signal, ...json })
  return (await accepted(answer)).json()
}

/** Returns the reason of a failure of such a request, or of `fetch`, for people. */
export function reasonOf(error: unknown): string {
  return error instanceof TypeError || !(error instanceof Error) ? texts.shell.requestFailed : error.message
}
