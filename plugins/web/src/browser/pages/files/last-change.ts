import type { PageContext } from '@nodekeep/plugin-sdk/web-page'
import { signal } from '@preact/signals'
import { Refusal } from '../../refusal.ts'
import { reasonOf, request } from '../../request.ts'
import { shownName } from '../../shown-name.ts'
import { texts } from '../../texts.ts'

/** A change as the person is told of it. */
interface ToldChange {
  readonly text: string
  /** The group that takes it back; `null` if nothing does. */
  readonly group: string | null
}

/** The header of an answer with the group that takes the change back. */
export const undoHeader = 'x-nodekeep-undo'

/** Statuses of an undo that is refused for good: something was changed since, or is not kept any more. */
const lasting = new Set([404, 409])

/** The change that the person made last, and can take back. It stays while another page is shown. */
export class LastChange {
  readonly told = signal<ToldChange | null>(null)
  readonly #page: PageContext
  #isBusy = false

  constructor(page: PageContext) {
    this.#page = page
  }

  /** Says what was changed. It takes the place of the change before. */
  tell(text: string, group: string | null): void {
    this.told.value = { text, group }
  }

  clear(): void {
    this.told.value = null
  }

  /** Takes the change back, and says so, or why it cannot be. */
  async takeBack(): Promise<void> {
    const taken = this.told.value
    if (taken === null || taken.group === null || this.#isBusy) return
    const { group } = taken
    this.#isBusy = true
    const outcome = await request(this.#page, 'POST /api/files/undo', { body: { group } })
      .then(() => ({ text: texts.files.undone, group: null }))
      .catch((error: unknown) => ({
        text: shownName(reasonOf(error)),
        group: error instanceof Refusal && lasting.has(error.status) ? null : group,
      }))
    this.#isBusy = false
    // Another change may have been made meanwhile.
    if (this.told.value === taken) this.told.value = outcome
  }
}
