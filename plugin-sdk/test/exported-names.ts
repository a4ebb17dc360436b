import { fileURLToPath } from 'node:url'
import { API } from 'typescript/unstable/sync'

const folder = fileURLToPath(new URL('../', import.meta.url))

/** Returns the exported names of modules, including types, by the path of the module from the folder of this package. */
export function exportedNames(modules: readonly string[]): Map<string, string[]> {
  const api = new API({ cwd: folder })
  try {
    const configurations = ['tsconfig.json', 'tsconfig.browser.json'].map((name) => `${folder}../${name}`)
    const projects = api.updateSnapshot({ openProjects: configurations }).getProjects()
    return new Map(
      modules.map((path) => {
        const project = projects.find(({ program }) => program.getSourceFile(folder + path) !== undefined)
        if (project === undefined) throw new Error(`${path} is in no project.`)
        const { program, checker } = project
        const source = program.getSourceFile(folder + path)
        const symbol = source && checker.getSymbolAtLocation(source)
        if (!symbol) throw new Error(`${path} is no module.`)
        return [path, checker.getExportsOfModule(symbol).map(({ name }) => name)]
      }),
    )
  } finally {
    api.close()
  }
}
