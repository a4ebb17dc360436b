import type { NodeAnswers } from '@nodekeep/plugin-sdk/node-answers'
import type { PageContext } from '@nodekeep/plugin-sdk/web-page'
import type { VNode } from 'preact'
import { Avatar } from '../../../avatar.ts'
import { bytesText } from '../../../bytes-text.ts'
import { html } from '../../../html.ts'
import { PolledState, usePolled } from '../../../polled.ts'
import { ifRunning } from '../../../refusal.ts'
import { shownName } from '../../../shown-name.ts'
import * as texts from '../../../texts.ts'
import { UsageBar } from '../../../usage-bar.ts'
import { StorageCard } from '../cards/history-cards.ts'
import { usageText } from './file-usage.ts'

interface Storage {
  readonly all: NodeAnswers['GET /api/files/usage/all']
  readonly days: NodeAnswers['GET /api/node-history/days'] | null
}

const words = texts.usage
const { files: own, otherThings: others } = words.legend

/** The storages of the files with their room, who takes it, and how it grew. */
export function StoragePart({ page }: { page: PageContext }): VNode {
  const storage = usePolled<Storage>(page, {
    async load(get) {
      const [all, days] = await Promise.all([
        get('GET /api/files/usage/all'),
        ifRunning(get('GET /api/node-history/days')),
      ])
      return { all, days }
    },
    pauseMs: (value) => (value?.all.users.some(({ isComplete }) => !isComplete) ? 2000 : 30_000),
  })
  const state = storage.value.value
  if (state === null) return html`<${PolledState} of=${storage} />`
  const { all, days } = state
  const kept = all.users.reduce((sum, { kept: { trash, versions } }) => sum + trash + versions, 0)
  return html`
    <${PolledState} of=${storage} />
    ${days && days.fullInDays !== null && html`<p class="card warning">${texts.node.overview.room.full(days.fullInDays)} ${words.freeSome}</p>`}
    <ul class="items card" aria-label=${words.storages}>
      ${all.mounts.map(
        ({ mount, storage: name, bytes, entries, space }) => html`<li key=${mount}>
          <div class="grow">
            <strong><bdi>${mount === '/' ? words.everything : shownName(mount)}</bdi></strong> <span class="note">${name}</span>
            <p class="note">${words.taken(bytesText(bytes), texts.files.count(entries))}${space && `, ${words.free(bytesText(space.free), bytesText(space.total))}`}</p>
            ${space && html`<${UsageBar} bytes=${bytes} space=${space} legend=${{ own, others }} />`}
          </div>
        </li>`,
      )}
    </ul>
    ${kept > 0 && html`<p class="note">${words.keptOfAll(bytesText(kept))} ${words.keptDays}</p>`}
    <h2>${words.perUser}</h2>
    <ul class="items card" aria-label=${words.perUser}>
      ${all.users.map(
        (user) => html`<li key=${user.uuid}>
          <${Avatar} name=${user.username} />
          <div class="grow">
            <strong>${user.username}</strong>
            <p class="note">${usageText(user)}</p>
          </div>
        </li>`,
      )}
    </ul>
    ${days && html`<div class="cards"><${StorageCard} days=${days.periods} isLinked=${false} /></div>`}
  `
}
