import type { VNode } from 'preact'
import { useLayoutEffect, useMemo } from 'preact/hooks'
import { html } from '../../html.ts'
import * as texts from '../../texts.ts'
import type { ExportedFunction, WasmModule } from './module.ts'
import { Running } from './running.ts'

/** One function with a field for each parameter, and its result. */
export function FunctionForm({ module, of }: { module: WasmModule; of: ExportedFunction }): VNode {
  const { name, parameters, results } = of
  const running = useMemo(() => new Running<string>(), [])
  useLayoutEffect(() => () => running.stop(), [])
  const submit = (event: SubmitEvent) => {
    event.preventDefault()
    if (running.isRunning.value) return running.stop()
    const args = new FormData(event.target as HTMLFormElement).getAll('argument').map(String)
    return running.run((signal) => module.call(of, args, signal))
  }
  const isRunning = running.isRunning.value
  const outcome = running.outcome.value
  return html`<li>
    <form class="function" onSubmit=${submit} aria-label=${name}>
      <h2>${name}</h2>
      <p class="hint">${texts.wasm.signature(parameters, results)}</p>
      <div class="arguments">
        ${parameters.map(
          (type, i) => html`<label key=${i}>
            ${texts.wasm.argument(i + 1, type)}
            <input name="argument" required autocomplete="off" spellcheck=${false} inputmode=${type.startsWith('i') ? 'text' : 'decimal'} />
          </label>`,
        )}
        <button type="submit" aria-label=${`${isRunning ? texts.wasm.stop : texts.wasm.call}: ${name}`}>
          ${isRunning ? texts.wasm.stop : texts.wasm.call}
        </button>
      </div>
      <p role="status">
        ${isRunning && texts.wasm.running}
        ${outcome !== null && (results.length === 0 ? texts.wasm.noResult : html`${texts.wasm.result} <output>${outcome}</output>`)}
      </p>
      <p class="fault" role="alert">${running.fault.value}</p>
    </form>
  </li>`
}
