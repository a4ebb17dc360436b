import type { NodeAnswers } from '@nodekeep/plugin-sdk/node-answers'
import type { PageContext } from '@nodekeep/plugin-sdk/web-page'
import type { ComponentChildren, VNode } from 'preact'
import { useLayoutEffect, useRef } from 'preact/hooks'
import { AddressText } from '../address-text.ts'
import { html } from '../html.ts'
import { QrCode } from '../qr-code.ts'
import * as texts from '../texts.ts'
import { ReachNote } from './reach-note.ts'

interface MadeLinkProps {
  readonly made: Pick<NodeAnswers['POST /api/shares'], 'url' | 'reach'>
  readonly page: PageContext
  /** The buttons below it. */
  readonly children: ComponentChildren
}

const words = texts.links

/** Shows the address of a link once: the node keeps only its hash. */
export function MadeLink({ made: { url, reach }, page, children }: MadeLinkProps): VNode {
  const element = useRef<HTMLDivElement>(null)
  // The button that was pressed has gone.
  useLayoutEffect(() => element.current?.querySelector('button')?.focus(), [])
  return html`<div class="made-link" ref=${element}>
    <p role="status">${words.made}</p>
    <${AddressText} value=${url} main opens copy=${words.copy} />
    <${ReachNote} reach=${reach} page=${page} />
    ${reach !== 'machine' && html`<${QrCode} text=${url} label=${texts.publishing.qr} />`}
    <p class="buttons">${children}</p>
  </div>`
}
