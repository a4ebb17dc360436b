import type { PageContext } from '@nodekeep/plugin-sdk/web-page'
import { Refusal } from '../../refusal.ts'
import { reasonOf, request } from '../../request.ts'
import { shownName } from '../../shown-name.ts'
import * as texts from '../../texts.ts'

/** The header of an answer with the group that takes the change back. */
export const undoHeader = 'x-nodekeep-undo'

/** Statuses of an undo that is refused for good: something was changed since, or is not kept any more. */
const lasting = new Set([404, 409])

/** The change that the person made last, and can take back. A notice offers that, also while another page is shown. */
export class LastChange {
  /** Called after the change was taken back, or could not be. Resolves when the page shows what is there now, or is gone. */
  onTakenBack: () => Promise<void> = async () => {}
  readonly #page: PageContext
  /** The group that takes the change back; `null` if nothing does. */
  #group: string | null = null
  /** Says what was changed. */
  #told = ''
  /** Removes the notice of the change. */
  #unsay: () => void = () => {}
  #isBusy = false

  constructor(page: PageContext) {
    this.#page = page
  }

  /**
   * Says what was changed. It takes the place of the change before.
   *
   * @param group takes it back; `null` if nothing does
   */
  tell(text: string, group: string | null): void {
    this.clear()
    this.#group = group
    this.#told = text
    const undo = { label: texts.files.undo, run: () => void this.takeBack() }
    this.#unsay = this.#page.notice(text, 'done', group === null ? undefined : undo)
  }

  /** Offers nothing any more. */
  clear(): void {
    this.#group = null
    this.#unsay()
  }

  /** Takes the change back, and says so when the page shows it, or why it cannot be. */
  async takeBack(): Promise<void> {
    const group = this.#group
    const change = this.#told
    if (group === null || this.#isBusy) return
    this.#isBusy = true
    this.#unsay()
    this.#unsay = this.#page.notice(texts.files.undoing)
    try {
      await request(this.#page, 'POST /api/files/undo', { body: { group } })
      await this.onTakenBack()
      // Another change may have been made meanwhile.
      if (this.#group === group) this.tell(texts.files.undone(change), null)
    } catch (error) {
      const isLasting = error instanceof Refusal && lasting.has(error.status)
      if (this.#group === group) {
        this.tell(shownName(reasonOf(error)), isLasting ? null : group)
        // A second try may succeed.
        this.#told = change
      }
      void this.onTakenBack()
    } finally {
      this.#isBusy = false
    }
  }
}
