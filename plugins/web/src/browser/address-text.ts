import { useSignal } from '@preact/signals'
import type { VNode } from 'preact'
import { useRef } from 'preact/hooks'
import { copyText } from './copy-text.ts'
import { html } from './html.ts'
import { texts } from './texts.ts'

interface AddressTextProps {
  readonly value: string
  /** Whether to copy it is what the person most likely wants. */
  readonly main?: boolean
}

/** Shows the address of a wallet, which is no secret, with a button that copies it. */
export function AddressText({ value, main = false }: AddressTextProps): VNode {
  const told = useSignal('')
  const element = useRef<HTMLSpanElement>(null)
  const copy = async () => {
    told.value = (await copyText(value, element.current)) ? texts.copied : texts.selected
  }
  return html`<p class="address">
    <span ref=${element}>${value}</span>
    <button type="button" class=${main ? 'main' : ''} onClick=${copy}>${texts.account.copyAddress}</button>
    <span class="hint" role="status">${told.value}</span>
  </p>`
}
