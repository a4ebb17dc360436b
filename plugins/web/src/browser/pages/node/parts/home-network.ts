import type { VNode } from 'preact'
import { CodeBlock } from '../../../code-block.ts'
import { html } from '../../../html.ts'
import { texts } from '../../../texts.ts'

const words = texts.node.overlay.home

/** An address as routers at home give it. */
const example = '192.168.1.20'

const configuration = `{
  "extends": "nodekeep:default",
  "server": { "host": "0.0.0.0", "hostnames": ["${example}"] }
}`

/** How the owner opens the node to the network at home: a node begins with its own machine only. */
export function HomeNetwork(): VNode {
  const port = location.port === '' ? '' : `:${location.port}`
  return html`<h2>${words.title}</h2>
    <p>${words.text}</p>
    <ol class="steps">
      <li>${words.find(example)} <${CodeBlock} text="hostname -I" /></li>
      <li>${words.configure} <${CodeBlock} text=${configuration} /></li>
      <li>${words.open} <${CodeBlock} text=${`http://${example}${port}`} /></li>
      <li>${words.signIn} <a href="#/account">${texts.account.title}</a>. ${words.family} <a href="#/node/users">${texts.node.users.title}</a>.</li>
    </ol>
    <p class="note">${words.plain}</p>`
}
