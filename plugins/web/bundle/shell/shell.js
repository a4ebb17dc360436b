import{A as L,B as ne,C as oe,D as V,E as M,F as re,G as ae,I as se,K as g,L as le,M as I,N as F,P as ie,Q as b,a as j,b as o,c as f,d as B,e as v,f as T,g as $,i as h,j as J,k as X,l,p as D,q as Y,r as S,s as C,v as Z,w as R,x as ee,y as E,z as te}from"./chunk.js";function ue({icon:e,title:t,text:r="",children:n}){return o`<div class="empty">
    ${f(e)}
    <h2>${t}</h2>
    ${r!==""&&o`<p>${r}</p>`}
    ${n!==void 0&&o`<div class="choices">${n}</div>`}
  </div>`}var x=h(null),q=h(""),k=h(!1);function ce(e){return x.value?.answer(null),new Promise(t=>{q.value="",k.value=!1,x.value={...e,answer(r){x.value=null,t(r)}}})}function me(){let e=x.value;if(v(()=>()=>x.value?.answer(null),[]),e===null)return null;let{title:t,text:r,field:n,agree:a,check:s,answer:u}=e,i=async c=>{if(c.preventDefault(),k.value)return;let m=new FormData(c.target),p=String(m.get("value")??"").trim();k.value=!0;let d=await s?.(p)??null;x.value===e&&(k.value=!1,d===null?u(p):q.value=d)};return o`<${K} title=${t} selected=${n?.selected} onClose=${()=>u(null)}>
    <form onSubmit=${i}>
      ${r&&o`<p>${r}</p>`}
      ${n&&o`<label>${n.label}<input name="value" defaultValue=${n.value} autocomplete="off" autofocus /></label>`}
      <p class="fault" role="alert">${q}</p>
      <p class="buttons">
        <button type="button" onClick=${()=>u(null)}>${l.cancel}</button>
        <button type="submit" class="main" aria-disabled=${k.value}>${a}</button>
      </p>
    </form>
  <//>`}function K(e){let t=$(null);return T(()=>{let n=t.current;n?.showModal();let a=n?.querySelector("input[autofocus]");return a?.setSelectionRange(0,e.selected??a.value.length),()=>n?.close()},[]),o`<dialog ref=${t} onCancel=${n=>{n.preventDefault(),e.onClose()}} aria-label=${e.title}>
    <h2>${e.title}</h2>
    ${e.children}
  </dialog>`}var Pe=new I({path:"/api/system/health",freshMs:5e3,everyMs:()=>6e4});function pe(){let{attention:e=[]}=F(Pe)??{},t=e.length;if(t===0)return null;let r=e.every(({ok:a})=>a)?"warning":"fault",n=l.shell.attention(t);return o`<a class=${`badge attention-badge ${r}`} href=${E("/node")} aria-label=${n} title=${n}>
    ${f("bell")}${t}
  </a>`}var Te=6;function U({name:e}){let[t="?"]=e,r=[...e].reduce((n,a)=>n+(a.codePointAt(0)??0),0);return o`<span class="avatar" data-letter=${t} data-color=${r%Te} aria-hidden="true"></span>`}var Se=700,H=6;function Ce({label:e,items:t,at:r,onClose:n,children:a}){let s=$(null),u=$({text:"",at:0});return T(()=>{let c=s.current,m=document.activeElement;if(c===null)return;c.showPopover();let p=()=>Ie(c,r);p(),addEventListener("resize",p),de(c)[0]?.focus({preventScroll:!0});let d=({target:P})=>{[c,r].some(_=>_ instanceof Element&&_.contains(P))||n()};addEventListener("pointerdown",d,{capture:!0});let{hash:w}=location,N=()=>{location.hash!==w&&n()};return addEventListener("hashchange",N),()=>{removeEventListener("pointerdown",d,{capture:!0}),removeEventListener("resize",p),removeEventListener("hashchange",N);let{activeElement:P}=document;(P===document.body||c.contains(P))&&m instanceof HTMLElement&&m.focus({preventScroll:!0})}},[]),o`<div class="menu" popover="manual" ref=${s} onKeyDown=${c=>{let m=s.current;if(m===null||c.ctrlKey||c.metaKey||c.altKey)return;let p=de(m),d=p.indexOf(document.activeElement),w=Ve(c.key,p,d,u.current);if(c.key==="Tab"||c.key==="Escape")n();else if(w!==void 0)w.focus();else return;c.preventDefault()}}>
    ${a}
    <div role="menu" aria-label=${e}>
      ${t.map(c=>c===null?o`<hr />`:o`<${Le} item=${c} onClose=${n} />`)}
    </div>
  </div>`}function Le({item:e,onClose:t}){let{label:r,icon:n,keys:a,isDanger:s=!1,isChosen:u,refused:i}=e,c={role:u===void 0?"menuitem":"menuitemradio",tabindex:-1,class:s?"danger":"","aria-checked":u,"aria-disabled":i===void 0?void 0:!0,title:i},m=o`
    ${typeof n=="string"?f(n):n}
    <span>${r}</span>
    ${a!==void 0&&o`<kbd aria-hidden="true">${a}</kbd>`}
    ${u===!0&&o`<span class="end">${f("check")}</span>`}
  `;if("href"in e){let d=e.isCurrent===!0?"page":void 0;return o`<a ...${c} href=${e.href} aria-current=${d} onClick=${t}>${m}</a>`}return o`<button type="button" ...${c} aria-keyshortcuts=${a} onClick=${()=>{i===void 0&&(t(),queueMicrotask(e.run))}}>${m}</button>`}function A({label:e,items:t,head:r,children:n,...a}){let s=$(null),u=X(!1),i=()=>{u.value=!u.value},c=()=>{u.value=!1};return o`<button
      type="button"
      ...${a}
      ref=${s}
      aria-label=${e}
      aria-haspopup="menu"
      aria-expanded=${u.value}
      onClick=${i}
    >${n}</button>
    ${u.value&&s.current&&o`<${Ce} label=${e} items=${t} at=${s.current} onClose=${c}>${r}<//>`}`}function de(e){return[...e.querySelectorAll('[role^="menuitem"]')]}function Ve(e,t,r,n){if(e==="ArrowDown")return t[(r+1)%t.length];if(e==="ArrowUp")return t.at(r<=0?-1:r-1);if(e==="Home")return t[0];if(e==="End")return t.at(-1);if(e.length!==1||e===" ")return;let a=performance.now();n.text=(a-n.at<Se?n.text:"")+e.toLocaleLowerCase(),n.at=a;let s=n.text.length===1?r+1:r;return[...t.slice(s),...t.slice(0,s)].find(({innerText:i})=>i.trim().toLocaleLowerCase().startsWith(n.text))}function Ie(e,t){let{width:r,height:n}=e.getBoundingClientRect(),a=(d,w,N)=>Math.max(H,Math.min(d,N-w-H)),s=t instanceof Element?t.getBoundingClientRect():new DOMRect(t.x,t.y,0,0),u=t instanceof Element?H:0,i=s.left+s.width/2<innerWidth/2||!(t instanceof Element),c=s.bottom+u+n+H<=innerHeight||s.top<innerHeight-s.bottom,m=i?s.left:s.right-r,p=c?s.bottom+u:s.top-u-n;e.style.left=`${a(m,r,innerWidth)}px`,e.style.top=`${a(p,n,innerHeight)}px`}function O(){return o`<a class="product" href="#/"><img src="/web/icon.svg" alt="" /><span>${V}</span></a>`}function fe({bytes:e,space:t,legend:r}){let{free:n,total:a}=t,s=Math.max(0,a-n-e),u=i=>({width:`${100*Math.min(Math.max(i,0),a)/Math.max(a,1)}%`});return o`<span class="usage-bar" aria-hidden="true">
      <span class=${e>0?"own":""} style=${u(e)}></span>
      <span class="others" style=${u(s)}></span>
    </span>
    ${r&&o`<span class="usage-legend">
        <span class="own">${r.own(b(e))}</span>
        ${s>0&&o`<span class="others">${r.others(b(s))}</span>`}
        <span>${l.usage.legend.free(b(n))}</span>
      </span>`}`}var Fe=new I({path:"/api/files/usage?path=/",freshMs:3e4,everyMs:e=>e?.isComplete===!1?2e3:null});function he(){let e=F(Fe);if(e===null)return null;let{bytes:t,kept:r,quota:n,space:a}=e,s=n?.taken??t+r.trash+r.versions,u=n?.bytes??a?.total,i=n?Math.max(0,n.bytes-n.taken):a?.free,{roomUsed:c,roomOf:m}=l.shell;if(u===void 0||i===void 0)return o`<p class="room">${c(b(s))}</p>`;let p={own:n?d=>m(d,b(u)):c,others:l.usage.legend.otherThings};return o`<p class="room"><${fe} bytes=${s} space=${{free:i,total:u}} legend=${p} /></p>`}var He=4;function $e({pages:e}){let t=C(S),r=e.filter(({place:i})=>i==="tab").slice(0,He),n=t?r:e.filter(({place:i})=>i==="tab"||i==="side"),a=e.filter(i=>i.place!=="user"&&!n.includes(i)),s=g.value?.name,u=a.some(({name:i})=>i===s);return o`<nav class="side" aria-label=${l.shell.navigation}>
    <${O} />
    <ul>
      ${n.map(({name:i,title:c,icon:m})=>o`<li key=${i}>
          <a href=${E(`/${i}`)} aria-current=${i===s?"page":void 0}>
            ${B(m)}<span>${c}</span>
          </a>
        </li>`)}
      ${a.length>0&&o`<li>
          <${A} label=${l.shell.more} items=${Q(a)} aria-current=${u?"true":void 0}>
            ${f("ellipsis")}<span>${l.shell.more}</span>
          <//>
        </li>`}
    </ul>
    ${!t&&e.some(({name:i})=>i==="files")&&o`<${he} />`}
  </nav>`}function Q(e){return e.map(({name:t,title:r,icon:n})=>({label:r,icon:B(n),href:E(`/${t}`),isCurrent:t===g.value?.name}))}var W=["light","dark","system"],ge="nodekeep-theme",y=h(ve());J(()=>{let{dataset:e}=document.documentElement;y.value==="system"?delete e.theme:e.theme=y.value;for(let t of document.querySelectorAll("meta[data-scheme]")){let{scheme:r}=t.dataset;y.value==="system"?t.media=`(prefers-color-scheme: ${r})`:t.media=r===y.value?"all":"not all"}});addEventListener("storage",()=>{y.value=ve()});function ye(e){y.value=e;try{localStorage.setItem(ge,e)}catch{}}function ve(){try{let e=localStorage.getItem(ge);return W.find(t=>t===e)??"system"}catch{return"system"}}var Ae={light:"sun",dark:"moon",system:"monitor"};function be({user:e,pages:t}){let r=[...Q(t.filter(({place:a})=>a==="user")),null,...W.map(a=>({label:l.shell.themes[a],icon:Ae[a],isChosen:y.value===a,run:()=>ye(a)})),null,{label:l.shell.signOut,icon:"log-out",run:()=>{Oe()}}],n=o`<p class="person-head"><${U} name=${e.username} /><b>${e.username}</b></p>`;return o`<${A} class="person" label=${l.shell.menuOf(e.username)} items=${r} head=${n}>
    <${U} name=${e.username} />
  <//>`}async function Oe(){let{signOut:e,signOutTitle:t,signOutText:r}=l.shell;if(!(Be()&&await ce({title:t,text:r,agree:e})===null))try{await se(),te(l.shell.signedOut)}catch(n){L(n,l.shell.requestFailed)}}function Be(){return!dispatchEvent(new Event("beforeunload",{cancelable:!0}))}var De='input:not([type="checkbox"]), textarea, select',Re="dialog[open], :popover-open, .viewer";function we({target:e}){return!(e instanceof Element&&e.matches(De))&&document.querySelector(Re)===null}var qe=200,z="files";function Ee(){let e=$(null),t=xe(),r=C(S);v(()=>{let a=xe();e.current!==null&&e.current.value!==a&&(e.current.value=a)},[t]),v(()=>{let a=s=>{let{key:u,ctrlKey:i,metaKey:c,altKey:m}=s;u!=="/"||i||c||m||!we(s)||(s.preventDefault(),e.current?.focus(),e.current?.select())};return addEventListener("keydown",a),()=>removeEventListener("keydown",a)},[]);let n=({currentTarget:a})=>{let s=a.value,u=g.peek()?.name===z;if(s===""&&!u)return;let i=u?Z.peek():"/";ee(`/${z}${i==="/"?"":i}`,{query:s===""?{}:{search:s},replace:u&&R.peek().search!==void 0})};return o`<search>
    ${f("search")}
    <input
      type="search"
      ref=${e}
      defaultValue=${t}
      placeholder=${r?l.shell.searchShort:l.shell.search}
      aria-label=${l.shell.search}
      aria-keyshortcuts="/"
      maxlength=${qe}
      autocomplete="off"
      spellcheck=${!1}
      onInput=${n}
    />
    ${Ke()&&o`<kbd aria-hidden="true">/</kbd>`}
  </search>`}function xe(){return g.value?.name===z?R.value.search??"":""}function Ke(){return matchMedia("(hover: hover) and (pointer: fine)").matches}var Me=h(null),ke=h(!1);async function Ue(){try{Me.value??=(await import("./sign-in.js")).SignIn}catch{ke.value=!0}}function G(e){v(()=>{Ue()},[]);let t=Me.value;return t!==null?o`<${t} ...${e} />`:ke.value?o`<p role="alert">${l.shell.pageFailed(l.signIn.title)}</p>
    <p><button type="button" onClick=${()=>location.reload()}>${l.shell.reload}</button></p>`:o`<p class="hint">${l.shell.loading}</p>`}function Qe(){let e=re.value;return o`
    <a class="skip" href="#content" onClick=${We}>${l.shell.skip}</a>
    <p class="away" role="status">${D.value&&l.shell.away}</p>
    ${M.value&&o`<${$e} pages=${M.value.pages} />`}
    <${ze} />
    <${ie} />
    <${Ge} />
    <${ne} />
    <${me} />
    ${e&&o`<${K} title=${l.signIn.againTitle} onClose=${()=>e.end(!1)}>
        <p>${l.signIn.again}</p>
        <${G} again />
        <p class="buttons"><button type="button" onClick=${()=>e.end(!1)}>${l.cancel}</button></p>
      <//>`}
  `}function We(e){e.preventDefault(),document.getElementById("content")?.focus()}function ze(){let e=M.value;return o`<header class="top">
    <${O} />
    ${e?.search&&o`<${Ee} />`}
    ${e&&o`<div class="end">
        ${e.user.owner&&o`<${pe} />`}
        <${be} user=${e.user} pages=${e.pages} />
      </div>`}
  </header>`}function Ge(){let e=M.value;if(e===void 0){let{loading:n,awayTitle:a,awayText:s}=l.shell;return o`<main id="content">
      ${D.value?o`<h1 class="unseen">${V.value}</h1><${ue} icon="wifi-off" title=${a} text=${s} />`:o`<p class="hint">${n}</p>`}
    </main>`}if(e===null)return o`<main id="content" tabindex="-1" class="narrow"><${G} /></main>`;let t=g.value;if(t!==void 0)return o`<${le} key=${t.name} page=${t} user=${e.user} />`;let r=e.pages.length===0?l.shell.noPages:l.shell.noPage;return o`<main id="content" tabindex="-1" class="narrow"><p>${r}</p></main>`}async function _e(){await ae(),Y()&&oe()&&location.reload()}j(o`<${Qe} />`,document.body);_e().catch(e=>L(e,l.shell.requestFailed));
