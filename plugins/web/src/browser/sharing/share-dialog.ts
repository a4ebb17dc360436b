import type { NodeAnswers } from '@nodekeep/plugin-sdk/node-answers'
import type { PageContext } from '@nodekeep/plugin-sdk/web-page'
import { signal, useSignal } from '@preact/signals'
import type { VNode } from 'preact'
import { useLayoutEffect } from 'preact/hooks'
import { html } from '../html.ts'
import { Dialog } from '../questions.ts'
import { reasonOf, request } from '../request.ts'
import { shownName } from '../shown-name.ts'
import * as texts from '../texts.ts'
import { MadeLink } from './made-link.ts'
import { ReachNote } from './reach-note.ts'
import { ShareForm, type Subject } from './share-form.ts'

const words = texts.links

const offered = signal<(Subject & { close(): void }) | null>(null)

/** Offers a link to a file or folder, and resolves when the person has closed the dialog. */
export function offerShare(subject: Subject): Promise<void> {
  offered.value?.close()
  return new Promise((resolve) => {
    offered.value = {
      ...subject,
      close() {
        offered.value = null
        resolve()
      },
    }
  })
}

/** Shows what a link is offered for. */
export function ShareDialog({ page }: { readonly page: PageContext }): VNode | null {
  const subject = offered.value
  // A page that ends takes its dialog along.
  useLayoutEffect(() => () => offered.value?.close(), [])
  if (subject === null) return null
  const name = shownName(subject.path.slice(subject.path.lastIndexOf('/') + 1))
  return html`<${Dialog} key=${subject.path} title=${texts.files.of(words.share, name)} onClose=${subject.close}>
    <${Sharing} subject=${subject} page=${page} close=${subject.close} />
  <//>`
}

interface SharingProps {
  readonly subject: Subject
  readonly page: PageContext
  readonly close: () => void
}

function Sharing({ subject, page, close }: SharingProps): VNode {
  const known = useSignal<NodeAnswers['GET /api/shares'] | null>(null)
  const fault = useSignal('')
  const made = useSignal<NodeAnswers['POST /api/shares'] | null>(null)
  const { path } = subject
  useLayoutEffect(() => {
    request(page, 'GET /api/shares', { query: { path } }).then(
      (answer) => {
        known.value = answer
      },
      (error: unknown) => {
        fault.value = reasonOf(error)
      },
    )
  }, [path])
  const make = async (terms: object) => {
    made.value = await request(page, 'POST /api/shares', { body: { path, ...terms } })
  }
  if (made.value !== null) {
    return html`<${MadeLink} made=${made.value} page=${page}>
      <a class="button" href="#/links">${words.all}</a>
      <button type="button" onClick=${close}>${texts.close}</button>
    <//>`
  }
  if (known.value === null) {
    return html`
      <p class="fault" role="alert">${fault.value}</p>
      <p class="hint">${fault.value === '' && texts.shell.loading}</p>
      <p class="buttons"><button type="button" onClick=${close}>${texts.cancel}</button></p>
    `
  }
  const open = known.value.shares.filter(({ state }) => state === 'open').length
  return html`
    <p>${words.explanation}</p>
    <${ReachNote} reach=${known.value.reach} page=${page} />
    ${open > 0 && html`<p class="hint">${words.hasAlready(open)} <a href="#/links">${words.all}</a></p>`}
    <${ShareForm} subject=${subject} share=${null} days=${known.value} agree=${words.make} onAgree=${make} onCancel=${close} page=${page} />
  `
}
