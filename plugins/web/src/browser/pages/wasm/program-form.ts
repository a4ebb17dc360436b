import type { VNode } from 'preact'
import { useLayoutEffect, useMemo } from 'preact/hooks'
import { html } from '../../html.ts'
import * as texts from '../../texts.ts'
import type { ProgramEnd, WasmModule } from './module.ts'
import { Running } from './running.ts'

/** The arguments and the input of a program, its end and its output. */
export function ProgramForm({ module }: { module: WasmModule }): VNode {
  const running = useMemo(() => new Running<ProgramEnd>(), [])
  useLayoutEffect(() => () => running.stop(), [])
  const submit = (event: SubmitEvent) => {
    event.preventDefault()
    if (running.isRunning.value) return running.stop()
    const data = new FormData(event.target as HTMLFormElement)
    // Forms end lines with CR and LF (HTML, "Constructing the form data set").
    const [args = '', stdin = ''] = ['args', 'stdin'].map((name) =>
      String(data.get(name)).replaceAll('\r\n', '\n'),
    )
    return running.run((signal) =>
      module.run(args === '' ? [] : args.replace(/\n$/, '').split('\n'), stdin, signal),
    )
  }
  const isRunning = running.isRunning.value
  const end = running.outcome.value
  return html`<form class="program" onSubmit=${submit}>
    <label>${texts.wasm.args}<textarea name="args" rows="2" spellcheck=${false}></textarea></label>
    <label>${texts.wasm.stdin}<textarea name="stdin" rows="3" spellcheck=${false}></textarea></label>
    <button type="submit" class="main">${isRunning ? texts.wasm.stop : texts.wasm.run}</button>
    <p role="status">
      ${isRunning && texts.wasm.running}
      ${typeof end?.exitCode === 'number' && texts.wasm.exitCode(end.exitCode)}
    </p>
    <p class="fault" role="alert">${running.fault.value || end?.fault}</p>
    ${end !== null && html`<${Output} title=${texts.wasm.stdout} text=${end.stdout} />`}
    ${end !== null && html`<${Output} title=${texts.wasm.stderr} text=${end.stderr} />`}
  </form>`
}

function Output({ title, text }: { title: string; text: string }): VNode | null {
  if (text === '') return null
  return html`<h2>${title}</h2><pre tabindex="0" role="region" aria-label=${title}>${text}</pre>`
}
