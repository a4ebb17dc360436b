import type { NodeAnswers } from '@nodekeep/plugin-sdk/node-answers'
import type { PageContext } from '@nodekeep/plugin-sdk/web-page'
import type { VNode } from 'preact'
import { Action } from '../../../action.ts'
import { html } from '../../../html.ts'
import { PolledState, usePolled } from '../../../polled.ts'
import { ask } from '../../../questions.ts'
import { request } from '../../../request.ts'
import * as texts from '../../../texts.ts'

type NodePlugin = NodeAnswers['GET /api/system/plugins']['plugins'][number]

interface PluginsProps {
  readonly page: PageContext
  readonly onPluginsChanged: () => void
}

/** The plugins with their states, to be enabled and disabled. */
export function PluginsPart({ page, onPluginsChanged }: PluginsProps): VNode {
  const plugins = usePolled<readonly NodePlugin[]>(page, {
    load: async (get) => (await get('GET /api/system/plugins')).plugins.toSorted(byId),
    pauseMs: () => 15_000,
  })
  const all = plugins.value.value ?? []
  const words = texts.node.plugins
  const change = async (id: string, action: 'enable' | 'disable') => {
    const { plugin } = await request(page, `POST /api/system/plugins/{id}/${action}`, { names: { id } })
    if (action === 'disable') page.notice(words.disabled(id))
    else if (isUp(plugin)) page.notice(words.enabled(id))
    else page.notice(words.enableFailed(id, plugin.reason ?? words.seeLog), 'error')
    await plugins.refresh()
    onPluginsChanged()
  }
  const disable = async (plugin: NodePlugin) => {
    const { id } = plugin
    const others = stoppedWith(plugin, all)
    const text = [words.disableText(id)]
    if (others.length > 0) text.push(words.stopsToo(others.join(', ')))
    if ([id, ...others].includes('web')) text.push(words.stopsPages)
    const answer = await ask({
      title: words.disableTitle(id),
      text: text.join(' '),
      agree: words.disable,
    })
    if (answer !== null) await change(id, 'disable')
  }
  return html`
    <${PolledState} of=${plugins} />
    <p>${words.text}</p>
    <ul class="items card" aria-label=${words.title}>
      ${all.map((plugin) => {
        const { id, description, version, state, reason, required } = plugin
        const up = isUp(plugin)
        const switchText = up ? words.disable : words.enable
        return html`<li key=${id}>
          <div class="grow">
            <strong>${id}</strong> <span class=${`badge ${badgeOf(state)}`}>${words.states[state] ?? state}</span>
            <p class="note">${description}</p>
            <p class="note">${[version && words.version(version), required && up && words.required].filter(Boolean).join(' · ')}</p>
            <p class=${state === 'disabled' ? 'note' : 'fault'}>${reason && (state === 'disabled' ? words.off(reason) : reason)}</p>
          </div>
          ${
            !(required && up) &&
            html`<${Action} page=${page} label=${texts.node.of(switchText, id)} run=${() => (up ? disable(plugin) : change(id, 'enable'))}>${switchText}<//>`
          }
        </li>`
      })}
    </ul>
  `
}

/** The color of a state, beside its word. */
function badgeOf(state: string): string {
  if (state === 'active') return 'good'
  if (state === 'disabled') return ''
  return state === 'degraded' ? 'warning' : 'fault'
}

function byId(one: NodePlugin, other: NodePlugin): number {
  return one.id.localeCompare(other.id)
}

function isUp({ state }: NodePlugin): boolean {
  return state === 'active' || state === 'degraded'
}

/** Returns the ids of the plugins that need a plugin, directly or through others, and so stop with it. */
function stoppedWith(plugin: NodePlugin, all: readonly NodePlugin[]): string[] {
  const found = new Set([plugin])
  // The iteration of a set includes members that are added meanwhile.
  for (const { provides } of found) {
    for (const other of all) {
      if (isUp(other) && other.requires.some((service) => provides.includes(service))) found.add(other)
    }
  }
  found.delete(plugin)
  return [...found].map(({ id }) => id)
}
