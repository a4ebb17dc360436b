import type { NodeAnswers } from '@nodekeep/plugin-sdk/node-answers'
import type { PageContext } from '@nodekeep/plugin-sdk/web-page'
import type { VNode } from 'preact'
import { Avatar } from '../../../avatar.ts'
import { bytesText } from '../../../bytes-text.ts'
import { html } from '../../../html.ts'
import { type Polled, usePolled } from '../../../polled.ts'
import { ifRunning } from '../../../refusal.ts'
import * as texts from '../../../texts.ts'
import { Card } from '../cards/card.ts'
import type { FileUsage } from '../parts/file-usage.ts'
import { seenText } from '../parts/users.ts'

interface People {
  readonly users: NodeAnswers['GET /api/users']['users']
  readonly requests: NodeAnswers['GET /api/access-requests']['requests']
}

const words = texts.node.overview.people

/** People that the card shows. */
const most = 4

interface PeopleCardProps {
  readonly people: People
  /** `null` while the node has no files. */
  readonly usage: FileUsage | null
}

/** Asks for the people of the node. */
export function usePeople(page: PageContext): Polled<People> {
  return usePolled(page, {
    async load(get) {
      const [{ users }, asked] = await Promise.all([
        get('GET /api/users'),
        ifRunning(get('GET /api/access-requests')),
      ])
      return { users, requests: asked?.requests ?? [] }
    },
    pauseMs: () => 30_000,
  })
}

/** The people of the node: what they store, when they came last, and who asks to be let in. */
export function PeopleCard({ people: { users, requests }, usage }: PeopleCardProps): VNode {
  const latest = users
    .filter(({ disabled }) => disabled === null)
    .toSorted((one, other) => (other.lastSeen ?? '').localeCompare(one.lastSeen ?? ''))
  return html`<${Card} icon="users" title=${words.title} more=${['users', words.more(users.length)]}>
    <ul class="items">
      ${requests.slice(0, most).map(
        ({ wallet, username }) => html`<li key=${wallet}>
          <${Avatar} name=${username} />
          <span class="grow">${words.asks(username)}</span>
          <a class="button" href="#/node/users">${words.decide}</a>
        </li>`,
      )}
      ${latest.slice(0, most).map(({ uuid, username, lastSeen }) => {
        const taken = usage?.users.find((one) => one.uuid === uuid)
        return html`<li key=${uuid}>
          <${Avatar} name=${username} />
          <span class="grow">${username}</span>
          <span class="note">${[taken && bytesText(taken.bytes), seenText(lastSeen)].filter(Boolean).join(' · ')}</span>
        </li>`
      })}
    </ul>
  <//>`
}
