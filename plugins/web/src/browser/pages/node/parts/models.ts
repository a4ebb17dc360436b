import type { NodeAnswers } from '@nodekeep/plugin-sdk/node-answers'
import type { PageContext } from '@nodekeep/plugin-sdk/web-page'
import type { VNode } from 'preact'
import { html } from '../../../html.ts'
import { ModelWays } from '../../../model-ways.ts'
import { PolledState, usePolled } from '../../../polled.ts'
import { texts } from '../../../texts.ts'

type Provider = NodeAnswers['GET /api/ai/providers']['providers'][number]

const words = texts.node.models

/** The badges of the states. */
const kinds: Readonly<Record<Provider['state'], string>> = {
  works: 'good',
  empty: '',
  failed: 'warning',
  waiting: '',
}

/** Whether each provider of models works, and how to connect one. Keys are not set here: the configuration has them. */
export function ModelsPart({ page }: { page: PageContext }): VNode {
  const known = usePolled<readonly Provider[]>(page, {
    load: async (get) => (await get('GET /api/ai/providers')).providers,
    pauseMs: () => 10_000,
  })
  const providers = known.value.value
  if (providers === null) return html`<${PolledState} of=${known} />`
  return html`
    <${PolledState} of=${known} />
    <p>${providers.length === 0 ? words.none : words.text}</p>
    <ul class=${providers.length > 0 ? 'items card' : 'items'} aria-label=${words.list}>
      ${providers.map(
        (provider) => html`<li key=${provider.name}>
          <div class="grow">
            <strong>${provider.name}</strong> <span class=${`badge ${kinds[provider.state]}`}>${words.states[provider.state]}</span>
            <p class="note">${aboutOf(provider)}</p>
          </div>
        </li>`,
      )}
    </ul>
    <h2>${words.how}</h2>
    <${ModelWays} />
    <p class="note">${words.why}</p>
  `
}

function aboutOf({ state, models, problem }: Provider): string {
  if (state === 'works') return words.models(models)
  return problem ?? (state === 'empty' ? words.emptyText : '')
}
