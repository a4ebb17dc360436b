import type { MountPage, PageContext } from '@nodekeep/plugin-sdk/web-page'
import { render, type VNode } from 'preact'
import { FileChooser } from '../../file-chooser.ts'
import { html } from '../../html.ts'
import { texts } from '../../texts.ts'
import { FunctionForm } from './function-form.ts'
import { WasmModule } from './module.ts'
import { ProgramForm } from './program-form.ts'

/** The page of WebAssembly. The address names the module: `#/wasm/programs/math.wasm`. */
const mount: MountPage = (element, page) => {
  const module = new WasmModule(page)
  const chooser = new FileChooser(page, texts.wasm.choose, '.wasm')
  const open = (place: string) => void module.open(place === '/' ? null : place)
  page.onPlace(open)
  open(page.place)
  render(html`<${WasmView} module=${module} chooser=${chooser} page=${page} /><${chooser.View} />`, element)
  return () => render(null, element)
}

interface WasmViewProps {
  readonly module: WasmModule
  readonly chooser: FileChooser
  readonly page: PageContext
}

function WasmView({ module, chooser, page }: WasmViewProps): VNode {
  const path = module.path.value
  const functions = module.functions.value
  const choose = async () => {
    const chosen = await chooser.choose()
    if (chosen !== null) page.navigate(`/wasm${chosen}`)
  }
  const isLoading = path !== null && functions === null && module.fault.value === ''
  return html`<section class="wasm">
    <h1>${path === null ? texts.wasm.title : path.slice(path.lastIndexOf('/') + 1)}</h1>
    ${path === null ? html`<p>${texts.wasm.hint}</p>` : html`<p class="hint">${path}</p>`}
    <button type="button" class=${path === null && 'main'} onClick=${choose}>
      ${path === null ? texts.wasm.choose : texts.wasm.chooseOther}
    </button>
    <p class="fault" role="alert">${module.fault.value}</p>
    <p class="hint" role="status">${isLoading && texts.shell.loading}</p>
    ${module.isProgram.value && html`<${ProgramForm} key=${path} module=${module} />`}
    ${functions?.length === 0 && !module.isProgram.value && html`<p>${texts.wasm.noFunctions}</p>`}
    <ul>
      ${functions?.map((of) => html`<${FunctionForm} key=${`${path} ${of.name}`} module=${module} of=${of} />`)}
    </ul>
  </section>`
}

export default mount
