import type { NodeAnswers } from '@nodekeep/plugin-sdk/node-answers'
import type { PageContext } from '@nodekeep/plugin-sdk/web-page'
import type { VNode } from 'preact'
import { html } from '../../../html.ts'
import { hostText } from '../../../model-host.ts'
import { ModelWays } from '../../../model-ways.ts'
import { PolledState, usePolled } from '../../../polled.ts'
import { providerName } from '../../../provider-name.ts'
import * as texts from '../../../texts.ts'

type Provider = NodeAnswers['GET /api/ai/providers']['providers'][number]

const words = texts.node.models

/** The badges of the states. */
const kinds: Readonly<Record<Provider['state'], string>> = {
  works: 'good',
  empty: '',
  failed: 'warning',
  waiting: '',
}

interface Models {
  readonly providers: readonly Provider[]
  readonly hosts: NodeAnswers['GET /api/ai/hosts']['hosts']
}

/** Whether each provider of models works, where messages to it go, and how to connect one. Keys are not set here: the configuration has them. */
export function ModelsPart({ page }: { page: PageContext }): VNode {
  const known = usePolled<Models>(page, {
    async load(get) {
      const [{ providers }, { hosts }] = await Promise.all([
        get('GET /api/ai/providers'),
        get('GET /api/ai/hosts'),
      ])
      return { providers, hosts }
    },
    pauseMs: () => 10_000,
  })
  if (known.value.value === null) return html`<${PolledState} of=${known} />`
  const { providers, hosts } = known.value.value
  return html`
    <${PolledState} of=${known} />
    <p>${providers.length === 0 ? words.none : words.text}</p>
    <ul class=${providers.length > 0 ? 'items card' : 'items'} aria-label=${words.list}>
      ${providers.map(
        (provider) => html`<li key=${provider.name}>
          <div class="grow">
            <strong>${providerName(provider.name)}</strong> <span class=${`badge ${kinds[provider.state]}`}>${words.states[provider.state]}</span>
            <p class="note">${aboutOf(provider)}</p>
            <p class="note">${hostText(hosts[provider.name])}</p>
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
