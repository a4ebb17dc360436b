import { html } from '../../html.ts'
import * as texts from '../../texts.ts'
import type { SignInMethod } from '../sign-in-method.ts'
import { NewKeyForm } from './new-key-form.ts'
import { readKeptKey } from './stored-key-way.ts'

const text = texts.account.key

/** Makes an account: a name, and a key that the browser keeps. */
export const NewAccountWay: SignInMethod = ({ keep }) => {
  const stored = (key: Uint8Array, name: string) => {
    readKeptKey()
    keep(key, name)
  }
  return html`<${NewKeyForm} agree=${text.create} onStored=${stored} />
    <p class="hint">${text.intro}</p>`
}

/** Signs in with a key of which the person has a copy, and stores it in this browser. */
export const ImportedKeyWay: SignInMethod = ({ enterWith }) => {
  const stored = (key: Uint8Array) => {
    readKeptKey()
    void enterWith(key)
  }
  return html`<${NewKeyForm} imports agree=${text.importAndSignIn} onStored=${stored} />
    <p class="hint">${text.storageText}</p>`
}
