import type { PageContext } from '@nodekeep/plugin-sdk/web-page'
import { accepted } from '../../refusal.ts'
import { texts } from '../../texts.ts'

/**
 * Sends a request, and reads its JSON answer.
 *
 * @throws Refusal; TypeError if the node does not answer
 */
export async function request<Answer>(
  page: PageContext,
  method: string,
  path: string,
  body?: object,
): Promise<Answer> {
  const json = body && { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }
  return (await accepted(await page.fetch(path, { method, signal: page.signal, ...json }))).json()
}

/** Runs what the person started, and shows why it failed. Resolves to whether it worked. */
export async function attempt(page: PageContext, work: () => Promise<void>): Promise<boolean> {
  try {
    await work()
    return true
  } catch (error) {
    if (page.signal.aborted) return false
    page.notice(error instanceof TypeError ? texts.shell.requestFailed : (error as Error).message, 'error')
    return false
  }
}
