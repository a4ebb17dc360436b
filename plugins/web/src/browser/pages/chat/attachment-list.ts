import type { VNode } from 'preact'
import { html } from '../../html.ts'
import { icon } from '../../icon.ts'
import { shownName } from '../../shown-name.ts'
import * as texts from '../../texts.ts'
import { contentAddress, nameOf } from '../files/paths.ts'
import type { Attachment, Attachments } from './attachments.ts'

/** The files that go with the next message, each with a button that removes it. */
export function AttachmentList({ attachments }: { attachments: Attachments }): VNode {
  const remove = (attachment: Attachment) => void attachments.remove(attachment)
  const list = attachments.list.value
  return html`
    ${
      list.length > 0 &&
      html`<ul class="attachments" aria-label=${texts.chat.attached}>
        ${list.map((attachment) => {
          const name = shownName(attachment.name)
          return html`<li>
            <${AttachedFile} name=${attachment.name} path=${attachment.path} />
            <button type="button" class="quiet icon-only" aria-label=${texts.chat.removeFile(name)} onClick=${() => remove(attachment)}>
              ${icon('x')}
            </button>
          </li>`
        })}
      </ul>`
    }
    <p class="fault" role="alert">${attachments.fault.value}</p>
  `
}

/** The files of a message that was sent. */
export function SentFiles({ paths }: { paths: readonly string[] }): VNode | null {
  if (paths.length === 0) return null
  return html`<ul class="attachments" aria-label=${texts.chat.attached}>
    ${paths.map((path) => html`<li><${AttachedFile} name=${nameOf(path)} path=${path} /></li>`)}
  </ul>`
}

const pictures = /\.(avif|gif|jfif|jpe?g|png|webp)$/i

/** A file with its picture or icon. One that is stored is a link to its content. */
function AttachedFile({ name, path }: { name: string; path: string | null }): VNode {
  const shown = html`<span class="name">${shownName(name)}</span>`
  if (path === null) return html`<span class="file" aria-busy="true">${icon('upload')}${shown}</span>`
  const address = contentAddress(path)
  const isPicture = pictures.test(name)
  return html`<a class="file" href=${address} target="_blank" rel="noopener">
    ${isPicture ? html`<img src=${address} alt="" loading="lazy" />` : icon('file-text')}
    ${shown}
  </a>`
}
