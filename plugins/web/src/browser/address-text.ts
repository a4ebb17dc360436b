import { useSignal } from '@preact/signals'
import type { ComponentChildren, VNode } from 'preact'
import { useRef } from 'preact/hooks'
import { copyText } from './copy-text.ts'
import { html } from './html.ts'
import * as texts from './texts.ts'

interface AddressTextProps {
  readonly value: string
  /** Whether to copy it is what the person most likely wants. */
  readonly main?: boolean
  /** Whether it is an address of the web, which opens in a tab of its own. */
  readonly opens?: boolean
  /** The text of the button. */
  readonly copy?: string
  /** The name of the button for programs that read the screen aloud, where several are shown. */
  readonly label?: string
  /** More buttons for what is at the address. */
  readonly children?: ComponentChildren
}

/** Shows an address, such as that of a wallet, which is no secret, with a button that copies it. */
export function AddressText({
  value,
  main = false,
  opens = false,
  copy: text = texts.account.copyAddress,
  label,
  children,
}: AddressTextProps): VNode {
  const told = useSignal('')
  const element = useRef<HTMLElement>(null)
  const copy = async () => {
    told.value = (await copyText(value, element.current)) ? texts.copied : texts.selected
  }
  return html`<p class="address">
    ${
      opens
        ? html`<a ref=${element} href=${value} target="_blank" rel="noreferrer">${value}</a>`
        : html`<span ref=${element}>${value}</span>`
    }
    <button type="button" class=${main ? 'main' : ''} aria-label=${label} onClick=${copy}>${text}</button>
    ${children}
    <span class="hint" role="status">${told.value}</span>
  </p>`
}
