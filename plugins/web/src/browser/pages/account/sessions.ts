import type { NodeAnswers } from '@nodekeep/plugin-sdk/node-answers'
import type { PageContext } from '@nodekeep/plugin-sdk/web-page'
import { useSignal } from '@preact/signals'
import type { VNode } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { deviceName } from '../../device-name.ts'
import { html } from '../../html.ts'
import { ask } from '../../questions.ts'
import { request } from '../../request.ts'
import { texts } from '../../texts.ts'
import { attempt } from './attempt.ts'

type Session = NodeAnswers['GET /api/account/sessions']['sessions'][number]

const text = texts.account.sessions
const dates = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'short' })

/** The sessions of the person, and how to end them. */
export function Sessions({ page }: { page: PageContext }): VNode {
  const sessions = useSignal<readonly Session[] | null>(null)
  const heading = useRef<HTMLHeadingElement>(null)
  const load = async () => {
    sessions.value = (await request(page, 'GET /api/account/sessions')).sessions
  }
  useEffect(() => {
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
  const endOne = (id: string) =>
    end(() => request(page, 'DELETE /api/account/sessions/{id}', { names: { id } }))
  const row = ({ id, label, created, lastUsed, current }: Session) => html`<li key=${id}>
    <span class="what">
      <strong title=${label}>${deviceName(label)}</strong>${current && html` <em>${text.current}</em>`}
      <span class="hint">${text.times(dates.format(new Date(created)), dates.format(new Date(lastUsed)))}</span>
    </span>
    ${
      !current &&
      html`<button type="button" aria-label=${`${text.end}: ${deviceName(label)}`} onClick=${() => endOne(id)}>
          ${text.end}
        </button>`
    }
  </li>`
  const list = sessions.value
  return html`<section>
    <h2 tabindex="-1" ref=${heading}>${text.title}</h2>
    <p>${text.explanation}</p>
    ${list === null ? html`<p class="hint">${texts.shell.loading}</p>` : html`<ul>${list.map(row)}</ul>`}
    ${
      list !== null &&
      list.length > 1 &&
      html`<p class="choices"><button type="button" onClick=${endOthers}>${text.endOthers}</button></p>`
    }
  </section>`
}
