import { textOfKey } from '@nodekeep/login-siwe/client'
import type { ComponentChildren, VNode } from 'preact'
import { AddressText } from '../../address-text.ts'
import { focusAtFirst } from '../../focus.ts'
import { html } from '../../html.ts'
import * as texts from '../../texts.ts'
import { Mark } from '../mark.ts'
import { KeyText } from './key-care.ts'
import { signerOf } from './sign-with-key.ts'

interface KeepKeyProps {
  readonly secret: Uint8Array
  readonly working: boolean
  /** The reason why the sign-in failed; empty if it did not. */
  readonly fault: string
  onSignIn(): void
  /** Stands above the button. */
  readonly children?: ComponentChildren
}

const text = texts.account.key

/** Asks a person to keep a copy of the key that was made just now, and tells what a key is. Its address stands apart from it. */
export function KeepKey({ secret, working, fault, onSignIn, children }: KeepKeyProps): VNode {
  const [address] = signerOf(secret)
  return html`<div class="step">
    <${Mark} />
    <h1 tabindex="-1" ref=${focusAtFirst}>${text.copyTitle}</h1>
    <p>${text.copyText}</p>
    <${KeyText} value=${textOfKey(secret)} hides />
    <p class="hint">${text.storageText} ${text.lossText}</p>
    <h2>${text.addressTitle}</h2>
    <p class="hint">${text.addressText}</p>
    <${AddressText} value=${address} />
    ${children}
    <p class="fault" role="alert">${fault}</p>
    <p class="choices">
      <button type="button" class="main" disabled=${working} onClick=${onSignIn}>${text.copied}</button>
    </p>
  </div>`
}
