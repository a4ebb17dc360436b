import type { PageContext } from '@nodekeep/plugin-sdk/web-page'
import type { VNode } from 'preact'
import { bytesText } from '../../../bytes-text.ts'
import { html } from '../../../html.ts'
import { texts } from '../../../texts.ts'
import { PolledState, usePolled } from '../polled.ts'

/** The client of file sync, as `GET /api/sync/client` describes it. */
interface SyncClient {
  readonly path: string
  readonly name: string
  readonly version: string
  /** Bytes. */
  readonly size: number
  readonly sha256: string
  /** The oldest major version of Node that runs it. */
  readonly node: number
}

/** How to sync a folder of another device, with the client that the node itself offers. */
export function AddDevice({ page }: { page: PageContext }): VNode {
  const known = usePolled<SyncClient>(page, {
    load: (get) => get('/api/sync/client'),
    pauseMs: () => 600_000,
  })
  const client = known.value.value
  if (client === null) return html`<${PolledState} of=${known} />`
  const words = texts.node.devices
  const { origin } = location
  const { path, name, version, size, sha256, node } = client
  const command = (text: string) => html`<pre tabindex="0">${text}</pre>`
  return html`
    <p>${words.needs(node)} <a href="https://nodejs.org/download" rel="noreferrer">nodejs.org</a></p>
    <ol>
      <li>
        <a href=${path} download=${name}>${words.download(name, version, bytesText(size))}</a>
        <p>${words.orCommand}</p>
        ${command(`curl -fO ${origin}${path}`)}
      </li>
      <li>${words.check} ${command(`echo "${sha256}  ${name}" | sha256sum --check`)}</li>
      <li>${words.token} <a href="#/account">${texts.account.title}</a>.</li>
      <li>${words.login} ${command(`node ${name} login --node ${origin}`)}</li>
      <li>${words.sync} ${command(`mkdir -p ~/Cloud\nnode ${name} ~/Cloud --node ${origin}`)}</li>
    </ol>
    <p class="hint">${words.always}</p>
  `
}
