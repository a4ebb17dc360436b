import type { NodeAnswers } from '@nodekeep/plugin-sdk/node-answers'
import type { PageContext } from '@nodekeep/plugin-sdk/web-page'
import type { VNode } from 'preact'
import { bytesText } from '../../../bytes-text.ts'
import { html } from '../../../html.ts'
import { usePolled } from '../../../polled.ts'
import { Refusal } from '../../../refusal.ts'
import { shownName } from '../../../shown-name.ts'
import { texts } from '../../../texts.ts'
import { UsageBar } from '../../../usage-bar.ts'

type All = NodeAnswers['GET /api/files/usage/all']

const words = texts.usage

/** Asks for the usage of all users; `null` while the node has no files. */
export function useFileUsage(page: PageContext): All | null {
  const usage = usePolled<All | null>(page, {
    load: (get) =>
      get('GET /api/files/usage/all').catch((error) => {
        if (error instanceof Refusal && [404, 503].includes(error.status)) return null
        throw error
      }),
    pauseMs: (all) => (all?.users.some(({ isComplete }) => !isComplete) ? 2000 : 15_000),
  })
  return usage.value.value
}

/** How much the files of a user take. */
export function usageText(all: All | null, uuid: string): string {
  const user = all?.users.find((one) => one.uuid === uuid)
  if (user === undefined) return ''
  const taken = words.taken(bytesText(user.bytes), texts.files.count(user.entries))
  return user.isComplete ? taken : `${taken}, ${words.counting}`
}

/** The storages of the files, with their room. */
export function Storages({ all }: { all: All }): VNode {
  return html`<h3>${words.storages}</h3>
    <ul class="rows" aria-label=${words.storages}>
      ${all.mounts.map(
        ({ mount, storage, bytes, entries, space }) => html`<li key=${mount}>
          <div>
            <strong><bdi>${mount === '/' ? words.everything : shownName(mount)}</bdi></strong> <span class="state">${storage}</span>
            <p class="hint">${words.taken(bytesText(bytes), texts.files.count(entries))}${space && `, ${words.free(bytesText(space.free), bytesText(space.total))}`}</p>
            ${space && html`<${UsageBar} bytes=${bytes} space=${space} />`}
          </div>
        </li>`,
      )}
    </ul>`
}
