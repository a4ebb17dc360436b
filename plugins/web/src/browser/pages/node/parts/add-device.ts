import type { NodeAnswers } from '@nodekeep/plugin-sdk/node-answers'
import type { PageContext } from '@nodekeep/plugin-sdk/web-page'
import type { VNode } from 'preact'
import { bytesText } from '../../../bytes-text.ts'
import { CodeBlock } from '../../../code-block.ts'
import { html } from '../../../html.ts'
import { PolledState, usePolled } from '../../../polled.ts'
import * as texts from '../../../texts.ts'

/** A user unit of systemd. */
const unit = `[Service]
ExecStart=node %h/.local/bin/nodekeep-sync %h/Cloud
Restart=on-failure

[Install]
WantedBy=default.target
`

/** How to sync a folder of another device, with the client that the node itself offers. */
export function AddDevice({ page }: { page: PageContext }): VNode {
  const known = usePolled<NodeAnswers['GET /api/sync/client']>(page, {
    load: (get) => get('GET /api/sync/client'),
    pauseMs: () => 600_000,
  })
  const client = known.value.value
  if (client === null) return html`<${PolledState} of=${known} />`
  const words = texts.node.devices
  const { origin } = location
  const { path, name, version, size, sha256, node } = client
  const code = (text: string) => html`<${CodeBlock} text=${text} />`
  const { title, tokens } = texts.account
  return html`
    <p>${words.needs(node)} <a href="https://nodejs.org/download" rel="noreferrer">nodejs.org</a></p>
    <ol class="steps">
      <li>
        <a href=${path} download=${name}>${words.download(name, version, bytesText(size))}</a>
        <p>${words.orCommand}</p>
        ${code(`curl -fO ${origin}${path}`)}
        <p>${words.inFolder}</p>
      </li>
      <li>${words.check} ${code(`echo "${sha256}  ${name}" | sha256sum --check`)}</li>
      <li>
        ${words.token} <a href="#/account">${title}</a>. ${words.tokenChoices(tokens.expiry, tokens.term(0))}
      </li>
      <li>${words.login} ${code(`node ${name} login --node ${origin}`)}</li>
      <li>${words.sync} ${code(`mkdir -p ~/Cloud\nnode ${name} ~/Cloud --node ${origin}`)}</li>
    </ol>
    <details>
      <summary>${words.always}</summary>
      <ol class="steps">
        <li>
          ${words.install}
          ${code(`install -D -m 755 ${name} ~/.local/bin/${name}\nln -sf ${name} ~/.local/bin/nodekeep-sync`)}
        </li>
        <li>${words.unit} ${code(unit)}</li>
        <li>${words.enable} ${code('systemctl --user enable --now nodekeep-sync')}</li>
      </ol>
    </details>
  `
}
