import { App } from "./app";
import { mount } from "./dom";

const app = new App();
mount(document.getElementById("app")!, () => app.view());
