import type { PageContext } from '@nodekeep/plugin-sdk/web-page'
import { signal, useSignal } from '@preact/signals'
import type { VNode } from 'preact'
import { useLayoutEffect, useRef } from 'preact/hooks'
import { AddressText } from '../../address-text.ts'
import { bytesText } from '../../bytes-text.ts'
import { html } from '../../html.ts'
import { usePolled } from '../../polled.ts'
import { type Published, publish, publishedAddress, publishedReach } from '../../publications.ts'
import { QrCode } from '../../qr-code.ts'
import { Dialog } from '../../questions.ts'
import { reasonOf } from '../../request.ts'
import { ReachNote } from '../../sharing/reach-note.ts'
import { shownName } from '../../shown-name.ts'
import * as texts from '../../texts.ts'
import { nameOf } from './paths.ts'

/** A file or folder that may be published. */
interface Subject {
  readonly path: string
  /** Bytes of a file; `null` for a folder. */
  readonly size: number | null
}

/** Milliseconds between two questions how far it is. */
const pauseMs = 1000

const offered = signal<(Subject & { close(): void }) | null>(null)

/** Offers to publish a file or folder, and resolves when the person has closed the dialog. */
export function offerPublishing(subject: Subject): Promise<void> {
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

/** Shows what is offered to be published. */
export function PublishDialog({ page }: { page: PageContext }): VNode | null {
  const subject = offered.value
  // A page that ends takes its dialog along.
  useLayoutEffect(() => () => offered.value?.close(), [])
  if (subject === null) return null
  const title = texts.files.of(texts.publishing.publish, shownName(nameOf(subject.path)))
  return html`<${Dialog} key=${subject.path} title=${title} onClose=${subject.close}>
    <${Publishing} subject=${subject} page=${page} close=${subject.close} />
  <//>`
}

interface PublishingProps {
  readonly subject: Subject
  readonly page: PageContext
  readonly close: () => void
}

function Publishing({ subject, page, close }: PublishingProps): VNode {
  const isRunning = useSignal(false)
  const fault = useSignal('')
  const published = useSignal<Published | null>(null)
  const isOpen = useRef(true)
  useLayoutEffect(
    () => () => {
      isOpen.current = false
    },
    [],
  )
  const { path } = subject
  const words = texts.publishing
  const agree = async () => {
    if (isRunning.value) return
    isRunning.value = true
    fault.value = ''
    try {
      published.value = await publish(page, path)
      if (!isOpen.current) page.notice(words.done(shownName(nameOf(path))))
    } catch (error) {
      fault.value = reasonOf(error)
      if (!isOpen.current && !page.signedOut.aborted) page.notice(fault.value, 'error')
    } finally {
      isRunning.value = false
    }
  }
  if (published.value) return html`<${Result} published=${published.value} page=${page} close=${close} />`
  return html`
    ${words.explanation.map((text) => html`<p>${text}</p>`)}
    <p class="fault" role="alert">${fault.value}</p>
    ${isRunning.value && html`<${Progress} subject=${subject} page=${page} />`}
    <p class="buttons">
      <button type="button" onClick=${close}>${isRunning.value ? texts.close : texts.cancel}</button>
      <button type="button" class="main" aria-disabled=${isRunning.value} onClick=${agree}>${words.publish}</button>
    </p>
  `
}

function Progress({ subject, page }: Omit<PublishingProps, 'close'>): VNode {
  const { path, size } = subject
  const list = usePolled(page, {
    load: async (get) => (await get('GET /api/ipfs/publications')).publications,
    pauseMs: () => pauseMs,
  })
  const adding = list.value.value?.find((listed) => listed.path === path && listed.state === 'adding')
  const bytes = adding?.addedBytes ?? 0
  return html`
    <p>
      <progress max=${size || undefined} value=${size ? bytes : undefined} aria-label=${texts.publishing.progress}></progress>
      ${bytes > 0 && ` ${texts.publishing.added(bytesText(bytes))}`}
    </p>
    <p class="hint">${texts.publishing.goesOn}</p>
  `
}

interface ResultProps extends Omit<PublishingProps, 'subject'> {
  readonly published: Published
}

function Result({ published, page, close }: ResultProps): VNode {
  const element = useRef<HTMLDivElement>(null)
  // The button that was pressed has gone.
  useLayoutEffect(() => element.current?.querySelector('button')?.focus(), [])
  const address = publishedAddress(published.url)
  const reach = publishedReach(published.url)
  const words = texts.publishing
  return html`<div class="published" ref=${element}>
    <p role="status">${words.isPublished}</p>
    <${AddressText} value=${address} main opens />
    <${ReachNote} reach=${reach} page=${page} />
    ${reach !== 'machine' && html`<${QrCode} text=${address} label=${words.qr} />`}
    <p>${words.cid} <code>${published.cid}</code></p>
    <p class="buttons">
      <a class="button" href="#/published">${words.all}</a>
      <button type="button" onClick=${close}>${texts.close}</button>
    </p>
  </div>`
}
