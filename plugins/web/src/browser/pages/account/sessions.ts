import type { NodeAnswers } from '@nodekeep/plugin-sdk/node-answers'
import type { PageContext } from '@nodekeep/plugin-sdk/web-page'
import { useSignal } from '@preact/signals'
import type { VNode } from 'preact'
import { useLayoutEffect, useRef } from 'preact/hooks'
import { deviceName } from '../../device-name.ts'
import { html } from '../../html.ts'
import { type IconName, icon } from '../../icon.ts'
import { ask } from '../../questions.ts'
import { request } from '../../request.ts'
import * as texts from '../../texts.ts'
import { shortDateText } from '../../times.ts'
import { attempt } from './attempt.ts'
import { type Group, groupsOf } from './groups.ts'

type SessionList = NodeAnswers['GET /api/account/sessions']
type Session = SessionList['sessions'][number]

const text = texts.account.sessions

/** The sessions of the person by their devices, and how to end them. */
export function Sessions({ page }: { page: PageContext }): VNode {
  const known = useSignal<SessionList | null>(null)
  const heading = useRef<HTMLHeadingElement>(null)
  const load = async () => {
    known.value = await request(page, 'GET /api/account/sessions')
  }
  useLayoutEffect(() => {
    void attempt(page, load)
  }, [page])
  const end = async (remove: () => Promise<unknown>) => {
    await attempt(page, async () => {
      await remove()
      await load()
      page.notice(text.ended)
      // The button that had the focus is gone.
      heading.current?.focus()
    })
  }
  const endOthers = async () => {
    const answer = await ask({ title: text.endOthers, text: text.endOthersText, agree: text.endOthers })
    if (answer !== null) await end(() => request(page, 'DELETE /api/account/sessions'))
  }
  const endAll = (sessions: readonly Session[]) =>
    end(async () => {
      for (const { id } of sessions)
        await request(page, 'DELETE /api/account/sessions/{id}', { names: { id } })
    })
  const facts = ({ created, lastUsed }: Session) =>
    text.times(shortDateText(created), shortDateText(lastUsed))
  const endButton = (name: string, session: Session) =>
    !session.current &&
    html`<button type="button" aria-label=${`${text.end}: ${name}`} onClick=${() => endAll([session])}>${text.end}</button>`
  const row = ({ name, newest, older }: Group<Session>) => html`<li key=${newest.id}>
    ${icon(deviceIcon(newest.label))}
    <div class="grow">
      <strong title=${newest.label}>${name}</strong>${newest.current && html` <em class="badge good">${text.current}</em>`}
      <div class="note">${facts(newest)}</div>
      ${
        older.length > 0 &&
        html`<details>
            <summary>${text.older(older.length)}</summary>
            <ul class="items">
              ${older.map((session) => html`<li key=${session.id}><span class="grow note">${facts(session)}</span>${endButton(name, session)}</li>`)}
            </ul>
            ${older.length > 1 && html`<button type="button" onClick=${() => endAll(older)}>${text.endOlder(older.length)}</button>`}
          </details>`
      }
    </div>
    ${endButton(name, newest)}
  </li>`
  const list = known.value
  const nameOf = ({ label }: Session) => deviceName(label)
  // The session of this device is always the one that was used last.
  const lastUse = ({ current, lastUsed }: Session) => (current ? '~' : lastUsed)
  return html`<section class="card">
    <h2 tabindex="-1" ref=${heading}>${text.title}</h2>
    <p class="hint">${text.explanation} ${list && text.idle(list.idleDays)}</p>
    ${
      list === null
        ? html`<span class="skeleton"></span>`
        : html`<ul class="items">${groupsOf(list.sessions, nameOf, lastUse).map(row)}</ul>`
    }
    ${
      list !== null &&
      list.sessions.length > 1 &&
      html`<p class="choices"><button type="button" onClick=${endOthers}>${text.endOthers}</button></p>`
    }
  </section>`
}

function deviceIcon(userAgent: string): IconName {
  if (deviceName(userAgent) === userAgent) return 'terminal'
  return /Android|iPhone|iPad/.test(userAgent) ? 'smartphone' : 'monitor'
}
