import { useSignal } from '@preact/signals'
import type { VNode } from 'preact'
import { CodeBlock } from '../../../code-block.ts'
import { html } from '../../../html.ts'
import * as texts from '../../../texts.ts'

const words = texts.node.overlay.home

/** An address as routers at home give it. */
const example = '192.168.1.20'

/** @param name of the computer in its network, or its address */
const configuration = (name: string) => `{
  "extends": "nodekeep:default",
  "server": { "host": "0.0.0.0", "hostnames": [${JSON.stringify(name)}] }
}`

/** How the owner opens the node to the network at home: a node begins with its own machine only. The steps have the address that is typed. */
export function HomeNetwork(): VNode {
  const typed = useSignal('')
  const address = addressIn(typed.value) || example
  const type = ({ target }: InputEvent) => {
    typed.value = (target as HTMLInputElement).value
  }
  const port = location.port === '' ? '' : `:${location.port}`
  return html`<h2>${words.title}</h2>
    <p>${words.text}</p>
    <ol class="steps">
      <li>${words.find(example)} <${CodeBlock} text="hostname -I" />
        <label>${words.address}<input class="computer" value=${typed.value} placeholder=${example} autocomplete="off" spellcheck=${false} onInput=${type} /></label>
      </li>
      <li>${words.configure} <${CodeBlock} text=${configuration(address)} /></li>
      <li>${words.open} <${CodeBlock} text=${`http://${address}${port}`} /></li>
      <li>${words.signIn} <a href="#/account">${texts.account.title}</a>. ${words.family} <a href="#/node/users">${texts.node.users.title}</a>.</li>
    </ol>
    <p class="note">${words.plain}</p>`
}

/** Returns the first address of what `hostname -I` prints, or the name in an address of the web. */
function addressIn(text: string): string {
  return text
    .trim()
    .replace(/^https?:\/\//, '')
    .replace(/[\s:/].*$/s, '')
}
