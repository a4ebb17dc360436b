import type { PageContext } from '@nodekeep/plugin-sdk/web-page'
import { reasonOf } from '../../request.ts'

/** Runs what the person started, and shows why it failed. Resolves to whether it worked. */
export async function attempt(page: PageContext, work: () => Promise<void>): Promise<boolean> {
  try {
    await work()
    return true
  } catch (error) {
    if (page.signal.aborted) return false
    page.notice(reasonOf(error), 'error')
    return false
  }
}
